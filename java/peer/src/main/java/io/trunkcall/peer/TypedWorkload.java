package io.trunkcall.peer;

import com.trunkcall.bench.v1.EmitRequest;
import com.trunkcall.bench.v1.Payload;
import io.trunkcall.Caller;
import io.trunkcall.ClientStream;
import io.trunkcall.Receiver;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Call;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Calls of typed methods. */
final class TypedWorkload extends Workload {
  TypedWorkload(String method, int size) {
    super(method, size);
  }

  @Override
  Call blocking(Caller client) {
    return switch (method) {
      case "Say" -> () -> BenchMessages.check(client.call(BenchMethods.SAY, message));
      case "Echo" -> () -> BenchMessages.check(client.call(BenchMethods.ECHO, payload), payload);
      default -> {
        Receiver<Payload> stream = open(client);
        First first = new First();
        yield () -> first.check(stream.receive());
      }
    };
  }

  @Override
  AsyncCall async(Caller client) {
    return switch (method) {
      case "Say" ->
          ended -> ending(client.callAsync(BenchMethods.SAY, message), BenchMessages::check, ended);
      case "Echo" ->
          ended ->
              ending(
                  client.callAsync(BenchMethods.ECHO, payload),
                  answer -> BenchMessages.check(answer, payload),
                  ended);
      default -> {
        Receiver<Payload> stream = open(client);
        First first = new First();
        yield ended -> ending(stream.receiveAsync(), first::check, ended);
      }
    };
  }

  private static <R extends @Nullable Object> void ending(
      CompletableFuture<R> answer, Check<? super R> check, AsyncCall.Ended ended) {
    CompletableFuture<R> unused =
        answer.whenComplete(
            (message, error) -> {
              Throwable failure = error;
              if (failure instanceof CompletionException && failure.getCause() != null) {
                failure = failure.getCause();
              }
              if (failure == null) {
                try {
                  check.check(message);
                } catch (Exception e) {
                  failure = e;
                }
              }
              ended.ended(failure);
            });
  }

  /** A stream whose messages are the calls. */
  private Receiver<Payload> open(Caller client) {
    if (method.equals("Emit")) {
      int size = payload.getData().size();
      return client.open(BenchMethods.EMIT, EmitRequest.newBuilder().setSize(size).build());
    }
    ClientStream<Payload, Payload> stream = client.open(BenchMethods.ECHO_STREAM);
    Thread sender = new Thread(() -> sendOn(stream), "sender");
    sender.setDaemon(true);
    sender.start();
    return stream;
  }

  /** Sends without pause, as flow control lets it. */
  private void sendOn(ClientStream<Payload, Payload> stream) {
    try {
      while (stream.send(payload)) {
        // until the call is over
      }
    } catch (RuntimeException e) {
      // the receiver meets the same failure and reports it
    }
  }

  /** Checks the first message of a stream, and that there is one at all. */
  private final class First {
    private boolean checked;

    void check(@Nullable Payload answer) throws WrongAnswerException {
      if (answer == null) {
        throw new WrongAnswerException("the server ended the stream");
      }
      if (!checked) {
        BenchMessages.check(answer, payload);
        checked = true;
      }
    }
  }
}
