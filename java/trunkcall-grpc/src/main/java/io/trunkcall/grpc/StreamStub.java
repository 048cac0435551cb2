package io.trunkcall.grpc;

import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.Method;
import io.trunkcall.StatusException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A call of a stub with a stream in at least one direction. */
final class StreamStub<Q, R> extends StubCall<Q, R> implements Inbound.Sink<R> {
  private static final CompletableFuture<Boolean> SENT = CompletableFuture.completedFuture(true);

  private final boolean takesOne;
  private @Nullable Method<Q, R> method;
  private io.trunkcall.CallOptions how = io.trunkcall.CallOptions.NONE;
  private @Nullable Q request; // of a method that takes one
  private volatile @Nullable ClientStream<Q, R> stream;
  private volatile CompletableFuture<Boolean> sent = SENT; // the last message

  // Guarded by this.
  private @Nullable Inbound<R> inbound;
  private int asked; // before there was one

  StreamStub(
      GrpcChannel channel,
      Methods.Known<Q, R> known,
      MethodDescriptor<Q, R> descriptor,
      CallOptions options) {
    super(channel, known, descriptor, options);
    this.takesOne = descriptor.getType().clientSendsOneMessage();
  }

  @Override
  void opened(Method<Q, R> method, io.trunkcall.CallOptions how) {
    this.method = method;
    this.how = how;
    if (!takesOne) {
      make(() -> begin(null));
    }
  }

  @Override
  void caughtUp() {
    if (!takesOne) {
      serial.execute(this::tellReady);
    }
  }

  private void begin(@Nullable Q first) {
    Method<Q, R> called = method;
    if (called == null) {
      throw new IllegalStateException("a stream without its method");
    }
    ClientStream<Q, R> made;
    try {
      made = channel.caller().stream(called, first, how);
    } catch (RuntimeException e) {
      stop(Status.INTERNAL.withDescription(e.getMessage()).withCause(e));
      return;
    }
    stream = made;
    if (isStopped()) {
      made.cancel();
      return;
    }
    made.headers()
        .thenAccept(
            headers -> {
              if (!headers.isEmpty()) {
                serial.execute(() -> tellHeaders(headers));
              }
            });
    Inbound<R> from = new Inbound<>(made, serial, this);
    int before;
    synchronized (this) {
      inbound = from;
      before = asked;
    }
    from.request(before);
    made.status()
        .thenAccept(
            status -> {
              boolean here = status.local() && !status.ok();
              if (here && (status.code() == Code.CANCELLED || isLate(status.code()))) {
                from.stop(new StatusException(status)); // what has not been asked for is dropped
              }
            });
  }

  private static boolean isLate(Code code) {
    return code == Code.DEADLINE_EXCEEDED;
  }

  @Override
  void send(Q message) {
    if (takesOne) {
      if (request != null) {
        stop(Status.INTERNAL.withDescription("Too many requests"));
      }
      request = message;
      return;
    }
    ClientStream<Q, R> to = stream;
    if (to == null) {
      return;
    }
    CompletableFuture<Boolean> sending = to.sendAsync(message);
    sent = sending;
    if (!sending.isDone()) {
      sending.whenComplete(
          (more, error) -> {
            if (sent == sending) {
              serial.execute(this::tellReady);
            }
          });
    }
  }

  @Override
  void endRequests() {
    ClientStream<Q, R> to = stream;
    if (!takesOne) {
      if (to != null) {
        to.halfClose();
      }
      return;
    }
    Q first = request;
    request = null;
    if (first == null) {
      stop(Status.INTERNAL.withDescription("Half-closed without a request"));
    } else {
      make(() -> begin(first));
    }
  }

  @Override
  public boolean isReady() {
    return !isHalfClosed() && (takesOne || isPassing() && stream != null) && tookAll(sent);
  }

  @Override
  public void request(int count) {
    checkStarted();
    checkCount(count);
    Inbound<R> from;
    synchronized (this) {
      from = inbound;
      if (from == null) {
        asked = asked + count < 0 ? Integer.MAX_VALUE : asked + count;
        return;
      }
    }
    from.request(count);
  }

  @Override
  void abandon() {
    ClientStream<Q, R> begun = stream;
    if (begun != null) {
      begun.cancel();
    }
  }

  @Override
  String peer() {
    ClientStream<Q, R> begun = stream;
    return begun == null ? "" : begun.peer();
  }

  // What has come. On the serial.

  @Override
  public void message(R message) {
    tellWhatCameAhead();
    tellMessage(message);
  }

  @Override
  public void end(@Nullable Throwable failure) {
    if (failure != null) {
      fail(failure);
      return;
    }
    tellWhatCameAhead();
    ClientStream<Q, R> begun = stream;
    close(Status.OK, begun == null ? new Metadata() : Entries.toGrpc(begun.trailers()));
  }

  private void tellWhatCameAhead() {
    ClientStream<Q, R> begun = stream;
    if (begun != null) {
      tellHeaders(begun.headers().getNow(io.trunkcall.Metadata.EMPTY));
    }
  }
}
