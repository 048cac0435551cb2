package io.trunkcall.internal.wire;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Appends credit that is owed to the peer (protocol.md 9.4): one CREDIT for each stream, once the
 * last one has left. What is owed meanwhile is added to the next.
 */
final class Granter {
  private final Session session;
  private final Set<Call> due = new LinkedHashSet<>();

  Granter(Session session) {
    this.session = session;
  }

  /** Has a CREDIT appended with the next {@code take}. */
  void add(Call call) {
    due.add(call);
  }

  boolean due() {
    return !due.isEmpty();
  }

  void append() {
    Output output = session.output;
    for (Iterator<Call> calls = due.iterator(); calls.hasNext(); ) {
      Call call = calls.next();
      ReceiveFlow flow = call.receiving;
      if (flow == null || flow.owed == 0 || !call.takesCredit()) {
        calls.remove();
      } else if (flow.creditEnd <= output.written()) {
        calls.remove();
        output.frame(Frame.CREDIT, call.id, 0, (int) flow.owed);
        flow.window += flow.owed;
        flow.owed = 0;
        flow.creditEnd = output.position();
      }
    }
  }
}
