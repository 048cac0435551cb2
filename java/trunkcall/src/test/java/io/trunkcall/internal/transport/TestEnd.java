package io.trunkcall.internal.transport;

import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.internal.wire.ErrorClass;
import io.trunkcall.internal.wire.IncomingCall;
import io.trunkcall.internal.wire.MethodName;
import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.ServedMethod;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

/** An end of a connection that echoes what it is asked, unless told to hold it, and that asks. */
class TestEnd implements ConnectionEvents {
  static final MethodName ECHO = new MethodName("/test.Test/Echo");
  static final MethodName HOLD = new MethodName("/test.Test/Hold");
  static final MethodTable METHODS =
      name ->
          name.equals(ECHO.text()) || name.equals(HOLD.text())
              ? new ServedMethod(name, true, null)
              : null;

  final CompletableFuture<Carrier> connected = new CompletableFuture<>();
  final CompletableFuture<Void> greeted = new CompletableFuture<>();
  final CompletableFuture<String> disconnected = new CompletableFuture<>();
  final CompletableFuture<IncomingCall> held = new CompletableFuture<>();
  final CompletableFuture<IncomingCall> stopped = new CompletableFuture<>();
  final CompletableFuture<String> failed = new CompletableFuture<>();
  volatile Carrier carrier;

  /** Makes a call from any thread. */
  CompletableFuture<byte[]> call(MethodName method, byte[] message) {
    CompletableFuture<byte[]> answer = new CompletableFuture<>();
    carrier.submit(
        () -> {
          if (carrier.lost()
              || carrier.session().unary(method, message, 0, message.length, 0, 0, answer)
                  == null) {
            answer.completeExceptionally(new IllegalStateException("it cannot be opened"));
          }
        });
    return answer;
  }

  @Override
  public void connected(Carrier carrier) {
    this.carrier = carrier;
    connected.complete(carrier);
  }

  @Override
  public void disconnected(String why) {
    greeted.completeExceptionally(new TurnedAwayException(why));
    disconnected.complete(why);
  }

  @Override
  public Carrier carrier() {
    return carrier;
  }

  @Override
  public void opened() {
    greeted.complete(null);
  }

  @Override
  public void start(IncomingCall call) {
    if (call.method().name().equals(HOLD.text())) {
      held.complete(call);
      return;
    }
    byte[] message = call.message();
    call.finish(message, 0, message.length, 0, Metadata.EMPTY);
  }

  @Override
  public void unserved(String method, boolean refused, Code code, String text) {}

  @Override
  public void stopped(IncomingCall call) {
    call.finish(Status.of(Code.CANCELLED, ""), Metadata.EMPTY);
    stopped.complete(call);
  }

  @Override
  public void arrived(IncomingCall call) {}

  @Override
  public void arrived(OutgoingCall call) {}

  @Override
  public void halfClosed(IncomingCall call) {}

  @Override
  public void header(OutgoingCall call, Metadata metadata) {}

  @Override
  @SuppressWarnings("unchecked")
  public void ended(OutgoingCall call) {
    CompletableFuture<byte[]> answer = (CompletableFuture<byte[]>) call.user();
    if (call.status().code() == Code.OK) {
      int from = call.offset();
      answer.complete(
          call.hasMessage()
              ? Arrays.copyOfRange(call.array(), from, from + call.length())
              : call.takeMessage().bytes());
    } else {
      answer.completeExceptionally(new StatusException(call.status()));
    }
  }

  @Override
  public void writable(IncomingCall call) {}

  @Override
  public void writable(OutgoingCall call) {}

  @Override
  public void slotFree() {}

  @Override
  public void goesAway(int reason, String text) {
    if (reason != 0) {
      greeted.completeExceptionally(new TurnedAwayException(text));
      failed.complete(text);
      if (carrier != null) {
        carrier.why(text);
      }
    }
  }

  @Override
  public void overdue() {}

  @Override
  public void failed(ErrorClass kind, String text) {
    carrier.why(text);
    greeted.completeExceptionally(new TurnedAwayException(text));
    failed.complete(text);
  }
}
