package io.trunkcall;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Calls unary handlers on the caller's own thread, by way of the bytes of their messages. */
public final class LoopbackCaller implements Caller {
  private final Map<String, Handler> handlers = new HashMap<>();

  /** The options of the calls that were made, the last one last. */
  public final List<CallOptions> options = new ArrayList<>();

  /** The codecs that the calls came in. */
  public final List<Integer> codecs = new ArrayList<>();

  /** Calls these. */
  public LoopbackCaller(List<Handler> handlers) {
    handlers.forEach(each -> this.handlers.put(each.method().name(), each));
  }

  @Override
  public <Q, R> CompletableFuture<Response<R>> unary(
      Method<Q, R> method, Q request, CallOptions options) {
    this.options.add(options);
    codecs.add(method.request().number());
    try {
      return answer(method, request);
    } catch (Exception e) {
      return CompletableFuture.failedFuture(
          e instanceof StatusException ? e : new StatusException(Code.UNKNOWN, e.toString()));
    }
  }

  @SuppressWarnings("unchecked")
  private <Q, R> CompletableFuture<Response<R>> answer(Method<Q, R> method, Q request)
      throws Exception {
    Handler handler = handlers.get(method.name());
    if (handler == null) {
      throw new StatusException(Code.UNIMPLEMENTED, "there is no method " + method.name());
    }
    Method<Object, Object> served = (Method<Object, Object>) handler.method();
    int codec = method.request().number();
    Object taken = through(method.request(), request, served.request().in(codec));
    Object result = handler.run().run(taken, null, null);
    CompletionStage<Object> stage =
        handler.answersLater()
            ? (CompletionStage<Object>) result
            : CompletableFuture.completedFuture(result);
    return stage
        .thenApply(
            response ->
                new Response<>(
                    through(served.response().in(codec), response, method.response()),
                    Metadata.EMPTY,
                    Metadata.EMPTY,
                    "loopback",
                    Duration.ZERO))
        .toCompletableFuture();
  }

  private static <A, B> B through(Codec<A> from, A message, Codec<B> to) {
    Output out = new Output();
    from.encode(message, out);
    return to.decode(out.array(), 0, out.length());
  }

  @Override
  public <Q, R> ClientStream<Q, R> stream(
      Method<Q, R> method, @Nullable Q request, CallOptions options) {
    throw new UnsupportedOperationException("streams");
  }
}
