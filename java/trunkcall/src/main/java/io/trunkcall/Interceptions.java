package io.trunkcall;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Interceptors around calls. */
final class Interceptions {
  private Interceptions() {}

  /** Serves a call through the interceptors of its side. */
  static CompletionStage<? extends @Nullable Object> serve(
      ServingCall call,
      @Nullable Object request,
      @Nullable Duration timeout,
      @Nullable MessageStream stream)
      throws Exception {
    Call seen = new Call(call.method(), call.metadata(), request, timeout, stream, call);
    Next next =
        one -> {
          try {
            Object found = call.handler(one.request(), one.stream());
            return found instanceof CompletionStage<?> later
                ? later
                : CompletableFuture.completedFuture(found);
          } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
          }
        };
    List<ServerInterceptor> interceptors = call.serving().interceptors;
    for (int at = interceptors.size() - 1; at >= 1; at--) {
      next = serving(interceptors.get(at), next, call);
    }
    CompletionStage<? extends @Nullable Object> answer;
    try {
      answer = there(interceptors.get(0).intercept(seen, next), interceptors.get(0), call);
    } catch (Throwable e) {
      seen.end(served(call, e));
      throw e;
    }
    return answer.whenComplete(
        (response, error) -> seen.end(error == null ? Status.OK : served(call, error)));
  }

  /** How a call ended at the side that served it, which knows whether its handler ran. */
  private static Status served(ServingCall call, Throwable error) {
    return ended(error).withDelivery(call.entered() ? Delivery.EXECUTED : Delivery.REFUSED);
  }

  private static Next serving(ServerInterceptor interceptor, Next next, ServingCall served) {
    return call -> {
      try {
        return there(interceptor.intercept(call, next), interceptor, served);
      } catch (Throwable e) {
        return CompletableFuture.failedFuture(e);
      }
    };
  }

  /** Goes through the interceptors of a client, to {@code last}. */
  static CompletionStage<? extends @Nullable Object> call(
      List<ClientInterceptor> interceptors, Call call, Next last) {
    Next next = last;
    for (int at = interceptors.size() - 1; at >= 0; at--) {
      next = calling(interceptors.get(at), next);
    }
    return next.proceed(call);
  }

  private static Next calling(ClientInterceptor interceptor, Next next) {
    return call -> {
      try {
        return there(interceptor.intercept(call, next), interceptor, call.method());
      } catch (Throwable e) {
        return CompletableFuture.failedFuture(e);
      }
    };
  }

  /** The caller hears that there is none, the log of whom. */
  private static CompletionStage<? extends @Nullable Object> there(
      @Nullable CompletionStage<? extends @Nullable Object> stage,
      Object interceptor,
      ServingCall call) {
    if (stage != null) {
      return stage;
    }
    call.serving()
        .journal
        .log(System.Logger.Level.ERROR, "no stage", noStage(call.method(), interceptor), null);
    throw new StatusException(
        Code.INTERNAL, "an interceptor of the " + call.serving().side + " returned null");
  }

  private static CompletionStage<? extends @Nullable Object> there(
      @Nullable CompletionStage<? extends @Nullable Object> stage,
      Object interceptor,
      Method<?, ?> method) {
    if (stage == null) {
      throw Failures.local(Code.INTERNAL, noStage(method, interceptor), Delivery.NOT_SENT);
    }
    return stage;
  }

  private static String noStage(Method<?, ?> method, Object interceptor) {
    return "the interceptor "
        + interceptor.getClass().getName()
        + " returned null for a call of "
        + method.name()
        + ": want what the next step returned, or a stage in its place";
  }

  /** How a call ended, for interceptors; its caller may be told less. */
  static Status ended(Throwable error) {
    Throwable found = CallFuture.unwrapped(error);
    return found instanceof StatusException given
        ? given.status()
        : Status.of(Code.UNKNOWN, Failures.spelled(found));
  }
}
