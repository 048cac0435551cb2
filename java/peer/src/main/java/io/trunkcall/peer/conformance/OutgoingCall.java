package io.trunkcall.peer.conformance;

import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.Request;
import io.trunkcall.CallOptions;
import io.trunkcall.Caller;
import io.trunkcall.ClientStream;
import io.trunkcall.Method;
import io.trunkcall.Response;
import io.trunkcall.StatusException;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * One call to be made, by whichever side. Requests are messages, or bytes to be sent as they are.
 */
final class OutgoingCall {
  private final Method<Object, ?> method;
  private final List<?> requests;
  private final CallOptions options;

  /** Is done when the requests behind the first may be sent. */
  private final CompletionStage<?> released;

  /** Is done when the caller gives up. */
  private final CompletableFuture<?> giveUp;

  /** Told when the call was handed over, and when the first answer has come. */
  private final Runnable begun;

  private final Runnable answered;

  OutgoingCall(
      Method<Object, ?> method,
      List<?> requests,
      CallOptions options,
      CompletionStage<?> released,
      CompletableFuture<?> giveUp,
      Runnable begun,
      Runnable answered) {
    this.method = method;
    this.requests = requests;
    this.options = options;
    this.released = released;
    this.giveUp = giveUp;
    this.begun = begun;
    this.answered = answered;
  }

  /** One that nobody holds up, gives up or watches. */
  static OutgoingCall plain(Method<Object, ?> method, List<?> requests, CallOptions options) {
    return new OutgoingCall(
        method,
        requests,
        options,
        CompletableFuture.completedFuture(null),
        new CompletableFuture<>(),
        () -> {},
        () -> {});
  }

  /** Makes the call and waits for its end; {@code sender} runs what sends beside that. */
  Result make(Caller through, Executor sender) throws InterruptedException {
    Result result = new Result();
    if (giveUp.isDone()) {
      begun.run();
      result.givenUp = true;
      return result;
    }
    try {
      if (method.kind().streams()) {
        stream(through, sender, method, result);
      } else {
        unary(through, method, result);
      }
    } catch (StatusException failed) {
      result.failure = failed.status();
    } catch (CancellationException cancelled) {
      result.givenUp = true;
    }
    return result;
  }

  private <R> void unary(Caller through, Method<Object, R> method, Result result)
      throws InterruptedException {
    CompletableFuture<Response<R>> calling = through.unary(method, first(), options);
    begun.run();
    CompletableFuture<?> unused = giveUp.thenRun(() -> calling.cancel(true));
    Response<R> got;
    try {
      got = calling.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StatusException failed) {
        result.header = failed.headers();
        result.trailer = failed.trailers();
        throw failed;
      }
      throw new IllegalStateException(e);
    }
    result.header = got.headers();
    result.trailer = got.trailers();
    if (got.message() instanceof Answer answer) {
      take(answer, result);
    } else {
      result.results = got.message();
    }
  }

  private Object first() {
    return requests.isEmpty() ? Request.getDefaultInstance() : requests.get(0);
  }

  private void take(Object answer, Result result) {
    result.answers.add((Answer) answer);
    if (result.answers.size() == 1) {
      answered.run();
    }
  }

  /** Sends and receives at once. A request that could not be sent is known to the sender alone. */
  private <R> void stream(Caller through, Executor sender, Method<Object, R> method, Result result)
      throws InterruptedException {
    boolean one = method.kind().takesOne();
    ClientStream<Object, R> stream = through.stream(method, one ? first() : null, options);
    begun.run();
    CompletableFuture<?> unused = giveUp.thenRun(stream::cancel);
    CompletableFuture<@Nullable Void> sending =
        CompletableFuture.runAsync(() -> send(stream, one ? List.of() : requests), sender);
    try {
      for (R got : stream) {
        take(got, result);
      }
    } catch (StatusException received) {
      throw reason(sending, received);
    } finally {
      stream.cancel();
      result.header = stream.headers().getNow(result.header);
      result.trailer = stream.trailers();
    }
  }

  private void send(ClientStream<Object, ?> stream, List<?> all) {
    try {
      for (int number = 0; number < all.size(); number++) {
        if (number == 1) {
          CompletableFuture.anyOf(
                  released.toCompletableFuture(), stream.status().toCompletableFuture())
              .join();
        }
        if (!stream.send(all.get(number))) {
          return;
        }
      }
      stream.halfClose();
    } catch (StatusException unsent) {
      stream.cancel(); // the server waits for a message that cannot be sent
      throw unsent;
    }
  }

  /** Why the call failed: because of a request that could not be sent, or as it was received. */
  private static StatusException reason(
      CompletableFuture<@Nullable Void> sending, StatusException received) {
    try {
      sending.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof StatusException unsent) {
        return unsent;
      }
    }
    return received;
  }
}
