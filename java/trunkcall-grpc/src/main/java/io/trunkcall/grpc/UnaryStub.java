package io.trunkcall.grpc;

import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.trunkcall.Blocking;
import io.trunkcall.Method;
import io.trunkcall.Response;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A unary call of a stub: it is made when the stub half-closes. */
final class UnaryStub<Q, R> extends StubCall<Q, R> {
  private final AtomicInteger wanted = new AtomicInteger();
  private @Nullable Method<Q, R> method;
  private io.trunkcall.CallOptions how = io.trunkcall.CallOptions.NONE;
  private @Nullable Q request;
  private volatile @Nullable CompletableFuture<Response<R>> made;
  private volatile @Nullable Response<R> answer; // that has not been asked for
  private volatile String peer = "";

  UnaryStub(
      GrpcChannel channel,
      Methods.Known<Q, R> known,
      MethodDescriptor<Q, R> descriptor,
      CallOptions options) {
    super(channel, known, descriptor, options);
  }

  @Override
  void opened(Method<Q, R> method, io.trunkcall.CallOptions how) {
    this.method = method;
    this.how = how;
  }

  @Override
  void send(Q message) {
    if (request != null) {
      stop(Status.INTERNAL.withDescription("Too many requests"));
    }
    request = message;
  }

  @Override
  void endRequests() {
    Method<Q, R> called = method;
    Q sent = request;
    request = null;
    if (called == null || sent == null) {
      stop(Status.INTERNAL.withDescription("Half-closed without a request"));
      return;
    }
    make(
        () -> {
          CompletableFuture<Response<R>> result;
          try {
            result =
                isWaitedFor()
                    ? Blocking.unary(channel.caller(), called, sent, how)
                    : channel.caller().unary(called, sent, how);
          } catch (RuntimeException e) {
            stop(Status.INTERNAL.withDescription(e.getMessage()).withCause(e));
            return;
          }
          made = result;
          result.whenComplete((response, error) -> serial.execute(() -> answered(response, error)));
          if (isStopped()) {
            result.cancel(false);
          }
        });
  }

  private void answered(@Nullable Response<R> response, @Nullable Throwable error) {
    if (response == null) {
      Throwable cause = error instanceof CompletionException ? error.getCause() : error;
      fail(cause == null ? new IllegalStateException("a call without a response") : cause);
      return;
    }
    answer = response;
    peer = response.peer();
    tellHeaders(response.headers());
    deliver();
  }

  private void deliver() {
    Response<R> response = answer;
    if (response == null || wanted.get() == 0) {
      return;
    }
    answer = null;
    R message = response.message();
    if (message != null) {
      tellMessage(message);
    }
    close(Status.OK, Entries.toGrpc(response.trailers()));
  }

  @Override
  public void request(int count) {
    checkStarted();
    checkCount(count);
    wanted.accumulateAndGet(count, (had, more) -> had + more < 0 ? Integer.MAX_VALUE : had + more);
    if (answer != null) {
      serial.execute(this::deliver);
    }
  }

  @Override
  void abandon() {
    CompletableFuture<Response<R>> result = made;
    if (result != null) {
      result.cancel(false);
    }
  }

  @Override
  String peer() {
    return peer;
  }
}
