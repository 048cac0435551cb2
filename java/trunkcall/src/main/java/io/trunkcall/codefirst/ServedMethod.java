package io.trunkcall.codefirst;

import io.trunkcall.Code;
import io.trunkcall.Handler;
import io.trunkcall.ServerCall;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A method of a class that is served.
 *
 * @param takesCall whether its first parameter is the call, which is no argument
 * @param later whether it returns a future of its result
 */
record ServedMethod(
    Method method, Signature signature, boolean takesCall, boolean later, boolean inline) {
  /** Throws IllegalArgumentException, naming the parameter whose values cannot be carried. */
  static ServedMethod of(Method method, String publicName, boolean inline) {
    List<Declared> parameters = Declared.parameters(method);
    boolean takesCall = !parameters.isEmpty() && parameters.get(0).raw() == ServerCall.class;
    boolean later =
        method.getReturnType() == CompletionStage.class
            || method.getReturnType() == CompletableFuture.class;
    Signature signature =
        Signature.of(
            publicName,
            takesCall ? parameters.subList(1, parameters.size()) : parameters,
            later ? Declared.ofArgument(method.getAnnotatedReturnType()) : Declared.result(method));
    return new ServedMethod(method, signature, takesCall, later, inline);
  }

  /** What serves it for an object. */
  Handler handler(Object service) {
    Bound bound = new Bound(this, Handles.method(method, service));
    io.trunkcall.Method<Arguments, Results> serves = signature.method(ValueCodec.Form.MESSAGE_PACK);
    Handler handler =
        later
            ? Handler.unaryAsync(serves, bound::answerLater)
            : Handler.unary(serves, bound::answer);
    return inline ? handler.inline() : handler;
  }

  private Results results(@Nullable Object value) {
    try {
      return new Results(signature, signature.resultForm.apart(value));
    } catch (ValueException e) {
      throw Signature.failed(Code.INTERNAL, signature.name + e.told(), e);
    }
  }

  /** The method of one object. */
  private record Bound(ServedMethod of, MethodHandle handle) {
    Results answer(Arguments arguments, ServerCall call) throws Exception {
      return of.results(invoke(arguments, call));
    }

    CompletionStage<Results> answerLater(Arguments arguments, ServerCall call) throws Exception {
      if (invoke(arguments, call) instanceof CompletionStage<?> stage) {
        CompletableFuture<Results> results =
            stage.<Results>thenApply(of::results).toCompletableFuture();
        CompletableFuture<?> unused =
            results.whenComplete((found, error) -> cancelIf(results.isCancelled(), stage));
        return results;
      }
      throw new IllegalStateException("a method that is to answer later returned null");
    }

    /** When its call is over, what the method has returned is cancelled, as handlers' is. */
    private static void cancelIf(boolean over, CompletionStage<?> stage) {
      if (over && stage instanceof CompletableFuture<?> future) {
        try {
          future.cancel(true);
        } catch (UnsupportedOperationException e) {
          // It is a minimal stage, which cannot be.
        }
      }
    }

    private @Nullable Object invoke(Arguments arguments, ServerCall call) throws Exception {
      if (arguments.signature != of.signature) {
        throw Signature.failed(
            Code.INTERNAL,
            "an interceptor replaced the arguments of " + of.signature.name + " by others",
            null);
      }
      @Nullable Object[] values = arguments.values;
      if (of.takesCall) {
        values = new Object[values.length + 1];
        values[0] = call;
        System.arraycopy(arguments.values, 0, values, 1, arguments.values.length);
      }
      try {
        return (Object) handle.invokeExact(values);
      } catch (Exception | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
