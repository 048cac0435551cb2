package io.trunkcall.codefirst;

import io.trunkcall.CallOptions;
import io.trunkcall.Caller;
import io.trunkcall.Code;
import io.trunkcall.Method;
import io.trunkcall.StatusException;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** A method of a client's interface: it calls a remote one. */
final class RemoteFunction {
  /** How the outcome comes to the caller. */
  enum Way {
    WAIT,
    FUTURE,
    CALLBACK
  }

  private final Signature signature;
  private final Method<Arguments, Results> method;
  private final Way way;
  private final boolean withOptions;
  private final CallSettings settings;

  RemoteFunction(Signature signature, Way way, boolean withOptions, CallSettings settings) {
    this.signature = signature;
    this.method = signature.method(settings.form());
    this.way = way;
    this.withOptions = withOptions;
    this.settings = settings;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it is returned
  @Nullable Object call(Caller caller, @Nullable Object[] given) {
    int count = signature.parameters.size();
    CallOptions options = settings.options();
    if (withOptions && given[count] instanceof CallOptions own) {
      options = settings.under(own);
    }
    Arguments arguments = new Arguments(signature, Arrays.copyOf(given, count));
    switch (way) {
      case WAIT -> {
        return result(caller.call(method, arguments, options));
      }
      case FUTURE -> {
        return new Outcome(caller.callAsync(method, arguments, options));
      }
      case CALLBACK -> {
        callBack(given[given.length - 1], caller, arguments, options);
        return null;
      }
    }
    throw new AssertionError(way);
  }

  private @Nullable Object result(Results results) {
    if (results.signature != signature && !signature.results.fit(results.values)) {
      throw Signature.failed(
          Code.INTERNAL,
          "an interceptor answered " + signature.name + " by results of other types",
          null);
    }
    try {
      return signature.resultForm.together(results.values);
    } catch (ValueException e) {
      throw Signature.failed(Code.INTERNAL, signature.name + e.told(), e);
    }
  }

  // Its type was looked at when the interface was read; the callback is told of failures.
  @SuppressWarnings({"unchecked", "FutureReturnValueIgnored"})
  private void callBack(
      @Nullable Object given, Caller caller, Arguments arguments, CallOptions options) {
    if (given == null) {
      throw new NullPointerException("the callback of " + signature.name);
    }
    Callback<Object> callback = (Callback<Object>) given;
    new Outcome(caller.callAsync(method, arguments, options))
        .whenComplete((result, error) -> tell(callback, result, failure(error)));
  }

  private static void tell(
      Callback<Object> callback, @Nullable Object result, @Nullable StatusException failure) {
    try {
      callback.ended(result, failure);
    } catch (Throwable e) { // the future would keep it to itself
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    }
  }

  private @Nullable StatusException failure(@Nullable Throwable error) {
    if (error == null || error instanceof StatusException) {
      return (StatusException) error;
    }
    Code code = error instanceof CancellationException ? Code.CANCELLED : Code.UNKNOWN;
    return Signature.failed(code, signature.name + ": " + error.getMessage(), error);
  }

  /** The result of a call: to cancel it cancels the call. */
  private final class Outcome extends CompletableFuture<@Nullable Object> {
    private final CompletableFuture<Results> call;

    @SuppressWarnings("FutureReturnValueIgnored") // this is what becomes of it
    Outcome(CompletableFuture<Results> call) {
      this.call = call;
      call.whenComplete(this::end);
    }

    private void end(@Nullable Results results, @Nullable Throwable error) {
      if (error instanceof CompletionException wrapped && wrapped.getCause() != null) {
        completeExceptionally(wrapped.getCause());
      } else if (error != null) {
        completeExceptionally(error);
      } else {
        try {
          complete(result(Objects.requireNonNull(results, "a caller of one's own gave no result")));
        } catch (Throwable e) {
          completeExceptionally(e);
        }
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
