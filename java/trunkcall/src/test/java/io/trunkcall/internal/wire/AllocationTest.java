package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.trunkcall.Metadata;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** What a unary call takes from the heap. */
final class AllocationTest {
  private static final byte[] MESSAGE = new byte[100];

  /** Answers at once, with what it got. */
  private static final class Echo extends NoEvents {
    @Override
    public void start(IncomingCall call) {
      byte[] message = call.message();
      call.finish(message, 0, message.length, 0, Metadata.EMPTY);
    }
  }

  private final byte[] wire = new byte[1 << 16];
  private int length;

  private void carry(Session source, Session target, long now) {
    length = 0;
    long size =
        source.take(
            (array, offset, count, lasting) -> {
              System.arraycopy(array, offset, wire, length, count);
              length += count;
            });
    source.wrote(size);
    target.receive(wire, 0, length, now);
    target.dispatch(now);
  }

  @Test
  void aUnaryCallTakesTheCallsAndTheRequestAndNoMore() {
    SessionConfig config = SessionConfig.builder().keepalive(0, 0).build();
    Session client = new Session(new NoEvents(), true, 0, config, MethodTable.EMPTY);
    Session server = new Session(new Echo(), false, 0, config, Pair.METHODS);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long began = 0;
    int calls = 10_000;
    for (int i = -1_000; i < calls; i++) {
      if (i == 0) {
        began = threads.getCurrentThreadAllocatedBytes();
      }
      client.unary(Pair.UNARY, MESSAGE, 0, MESSAGE.length, 1, 1_000_000_000, null);
      carry(client, server, i);
      carry(server, client, i);
    }
    long each = (threads.getCurrentThreadAllocatedBytes() - began) / calls;
    // An OutgoingCall, an IncomingCall and the copy of the request; and the test's own two sinks.
    assertTrue(each <= 512, () -> each + " bytes");
  }
}
