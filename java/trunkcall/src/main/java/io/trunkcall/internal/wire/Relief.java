package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import org.jspecify.annotations.Nullable;

/** Which call a session ends when the memory of all is used up (limits.md 2). */
final class Relief implements Holder {
  /** Milliseconds, where the text says: at least 1. */
  static final int RETRY = 1_000;

  private final Session session;

  Relief(Session session) {
    this.session = session;
  }

  @Override
  public long unsent() {
    return session.output.unsent();
  }

  @Override
  public void reliefAsked() {
    session.events.reliefAsked();
  }

  /** {@code holder} is a direction of a call. */
  @Override
  public boolean relieve(@Nullable Object holder) {
    Call longest = longest(session);
    if (longest == null) {
      if (session.output.unsent() >= Share.LEAST) {
        session.lifecycle.fail(
            new ConnectionFault(ErrorClass.FLOOD, "the peer does not read what it is sent"), "");
        session.events.relieved();
      }
      return false;
    }
    if (holder != null && (longest.receiving == holder || longest.sending == holder)) {
      return false;
    }
    String text =
        "the memory of all connections, "
            + session.load.budget.limit
            + " bytes, is used up, most of it by this one";
    if (longest instanceof IncomingCall call) {
      session.callee.stop(call, Code.RESOURCE_EXHAUSTED, text, RETRY);
    } else if (longest instanceof OutgoingCall call) {
      if (call.state < OutgoingCall.ABANDONED) {
        session.caller.abandon(
            call,
            Session.CANNOT_TAKE,
            Session.localStatus(Code.RESOURCE_EXHAUSTED, text, Delivery.UNKNOWN));
      } else {
        call.discard(); // it has ended, and its answers were not taken
      }
    }
    session.events.relieved();
    return true;
  }

  private static @Nullable Call longest(Session session) {
    Call found = longest(session.callee.calls, null);
    return longest(session.caller.calls(), found);
  }

  private static @Nullable Call longest(@Nullable Call[] calls, @Nullable Call found) {
    Call longest = found;
    long least = found == null ? Long.MAX_VALUE : order(found);
    for (Call call : calls) {
      if (call != null && order(call) < least) {
        longest = call;
        least = order(call);
      }
    }
    return longest;
  }

  /** How long a call has held something: a lesser number is longer; none holds nothing. */
  private static long order(Call call) {
    long order = Long.MAX_VALUE;
    ReceiveFlow receiving = call.receiving;
    if (receiving != null && receiving.holds > 0) {
      order = receiving.order;
    }
    SendFlow sending = call.sending;
    if (sending != null && sending.holds > 0) {
      order = Math.min(order, sending.order);
    }
    return order;
  }
}
