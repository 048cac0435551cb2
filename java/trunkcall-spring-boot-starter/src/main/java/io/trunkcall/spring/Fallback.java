package io.trunkcall.spring;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.Callback;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.ResolvableType;

/**
 * What is behind the interface of a client that has a {@link ClientFallback}. The fallback of a
 * call that was waited for runs on the thread that waits; that of a future or a callback on an
 * executor, since the failure is told on an event loop, which other calls depend on.
 */
final class Fallback implements InvocationHandler {
  private final Object remote;
  private final Class<?> fallback;
  private final ConfigurableListableBeanFactory beans;
  private final Executor executor;

  private volatile @Nullable Object found;

  private Fallback(
      Object remote, Class<?> fallback, ConfigurableListableBeanFactory beans, Executor executor) {
    this.remote = remote;
    this.fallback = fallback;
    this.beans = beans;
    this.executor = executor;
  }

  /** A client with its fallback; the same one if it has none. */
  static <T> T around(
      T remote, Class<T> type, ConfigurableListableBeanFactory beans, Executor executor) {
    ClientFallback annotation = type.getAnnotation(ClientFallback.class);
    if (annotation == null) {
      return remote;
    }
    Class<?> fallback = annotation.value();
    check(type, fallback);
    Object proxy =
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            new Fallback(remote, fallback, beans, executor));
    return type.cast(proxy);
  }

  private static void check(Class<?> type, Class<?> fallback) {
    if (type.isAssignableFrom(fallback)) {
      return;
    }
    Class<?> made = ResolvableType.forClass(fallback).as(FallbackFactory.class).resolveGeneric(0);
    if (made == null || !type.isAssignableFrom(made)) {
      throw new IllegalArgumentException(
          type.getName()
              + ": its fallback "
              + fallback.getName()
              + " neither implements it nor is a FallbackFactory of it");
    }
  }

  /** The bean, or an object that Spring makes: when a call fails first. */
  private Object instead(StatusException failure) {
    Object object = found;
    if (object == null) {
      Object bean = beans.getBeanProvider(fallback).getIfUnique();
      object = bean == null ? beans.createBean(fallback) : bean;
      found = object;
    }
    return object instanceof FallbackFactory<?> factory ? factory.create(failure) : object;
  }

  @Override
  public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] given)
      throws Throwable {
    if (method.getDeclaringClass() == Object.class) {
      return method.getName().equals("equals") && given != null
          ? (Object) (proxy == given[0])
          : call(remote, method, given);
    }
    int last = given == null ? -1 : given.length - 1;
    if (last >= 0 && given != null && given[last] instanceof Callback<?> callback) {
      return calledBack(method, given, callback);
    }
    Object outcome;
    try {
      outcome = call(remote, method, given);
    } catch (StatusException e) {
      return answered(e) ? call(instead(e), method, given) : raise(e);
    }
    return outcome instanceof CompletableFuture<?> future
        ? new Later(future, method, given)
        : outcome;
  }

  /** Whether somebody waits for an answer. */
  private static boolean answered(StatusException failure) {
    return failure.code() != Code.CANCELLED;
  }

  private static Object raise(StatusException failure) {
    throw failure;
  }

  private static @Nullable Object call(
      Object object, Method method, @Nullable Object @Nullable [] given) throws Throwable {
    try {
      method.setAccessible(true);
      return method.invoke(object, given);
    } catch (InvocationTargetException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  /** Who calls is told by the callback, also what the fallback throws. */
  private @Nullable Object calledBack(Method method, @Nullable Object[] given, Callback<?> callback)
      throws Throwable {
    @SuppressWarnings("unchecked") // it takes what the remote method gives
    Callback<Object> done = (Callback<Object>) callback;
    @Nullable Object[] wrapped = given.clone();
    Callback<Object> first =
        (result, failure) -> {
          if (failure == null || !answered(failure)) {
            done.ended(result, failure);
          } else {
            offLoop(failure, () -> tell(failure, method, given, done), e -> done.ended(null, e));
          }
        };
    wrapped[given.length - 1] = first;
    return call(remote, method, wrapped);
  }

  private void tell(
      StatusException failure, Method method, @Nullable Object[] given, Callback<Object> done) {
    try {
      call(instead(failure), method, given);
    } catch (StatusException e) {
      done.ended(null, e);
    } catch (Throwable e) {
      failure.addSuppressed(e);
      done.ended(null, failure);
    }
  }

  /** Has a fallback run; once the application ends nobody runs it, and the failure is told. */
  private void offLoop(
      StatusException failure, Runnable answer, Consumer<StatusException> otherwise) {
    try {
      executor.execute(answer);
    } catch (RejectedExecutionException e) {
      failure.addSuppressed(e);
      otherwise.accept(failure);
    }
  }

  /** The result of a call, or what stands in for it: to cancel it cancels the call. */
  private final class Later extends CompletableFuture<@Nullable Object> {
    private final CompletableFuture<?> call;

    Later(CompletableFuture<?> call, Method method, @Nullable Object @Nullable [] given) {
      this.call = call;
      call.whenComplete((result, error) -> end(result, error, method, given));
    }

    private void end(
        @Nullable Object result,
        @Nullable Throwable error,
        Method method,
        @Nullable Object @Nullable [] given) {
      Throwable cause =
          error instanceof CompletionException && error.getCause() != null
              ? error.getCause()
              : error;
      if (cause == null) {
        complete(result);
      } else if (cause instanceof StatusException failure && answered(failure)) {
        offLoop(failure, () -> answer(failure, method, given), this::completeExceptionally);
      } else {
        completeExceptionally(cause);
      }
    }

    private void answer(
        StatusException failure, Method method, @Nullable Object @Nullable [] given) {
      try {
        Object answer = Fallback.call(instead(failure), method, given);
        if (answer instanceof CompletionStage<?> stage) {
          stage.whenComplete(
              (result, error) -> {
                if (error == null) {
                  complete(result);
                } else {
                  completeExceptionally(error);
                }
              });
        } else {
          complete(answer);
        }
      } catch (Throwable e) {
        completeExceptionally(e);
      }
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      boolean cancelled = super.cancel(mayInterruptIfRunning);
      if (cancelled) {
        call.cancel(mayInterruptIfRunning);
      }
      return cancelled;
    }
  }
}
