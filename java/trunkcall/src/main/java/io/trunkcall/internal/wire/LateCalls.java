package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Set;

/** Ends calls with a message that is under way for too long, sent or received (protocol.md 9.6). */
final class LateCalls {
  private static final long LOOK = 5_000_000; // µs between two looks

  private final Session session;
  private final Set<Call> watched = new LinkedHashSet<>();
  private long looked;
  long at = Session.NEVER; // when to look next

  LateCalls(Session session) {
    this.session = session;
  }

  /** A message of the call has begun. */
  void watch(Call call) {
    if (at == Session.NEVER) {
      looked = session.now;
      at = looked + LOOK;
    }
    watched.add(call);
  }

  void look(long now) {
    long passed = now - looked;
    looked = now;
    for (Call call : new ArrayList<>(watched)) {
      SendFlow sending = call.sending;
      ReceiveFlow receiving = call.receiving;
      if (sending != null && sending.outbox.isEmpty()) {
        sending = null;
      }
      if (receiving != null && receiving.total == 0) {
        receiving = null;
      }
      if (call.over() || (sending == null && receiving == null)) {
        watched.remove(call);
      } else if (sending != null && UnderWay.late(sending.since, sending.sent, now)) {
        end(call, Session.GAVE_UP);
      } else if (receiving != null) {
        if (Math.max(receiving.window, session.pool.left) < Sender.FULL_PIECE) {
          receiving.since = Math.min(receiving.since + passed, now); // its sender could not go on
        } else if (UnderWay.late(receiving.since, receiving.received, now)) {
          end(call, Session.CANNOT_TAKE);
        }
      }
    }
    at = watched.isEmpty() ? Session.NEVER : now + LOOK;
  }

  private void end(Call call, int reason) {
    watched.remove(call);
    if (call instanceof OutgoingCall own) {
      session.caller.abandon(
          own,
          reason,
          Session.localStatus(Code.RESOURCE_EXHAUSTED, UnderWay.LATE, Delivery.UNKNOWN));
    } else if (call instanceof IncomingCall served) {
      session.callee.stop(served, Code.RESOURCE_EXHAUSTED, UnderWay.LATE, Relief.RETRY);
    }
  }
}
