package io.trunkcall.jmh;

import io.trunkcall.Metadata;
import io.trunkcall.internal.wire.ErrorClass;
import io.trunkcall.internal.wire.Events;
import io.trunkcall.internal.wire.IncomingCall;
import io.trunkcall.internal.wire.MethodName;
import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.ServedMethod;
import io.trunkcall.internal.wire.Session;
import io.trunkcall.internal.wire.SessionConfig;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Two sessions joined by an array: a call is its frames written and read on both sides, its slot,
 * its dispatch and its answer. There is no codec, no thread and no socket.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Frames {
  private static final int TOGETHER = 100; // calls of a batch
  private static final MethodName NAME = new MethodName("/bench.Service/Echo");
  private static final ServedMethod SERVED = new ServedMethod("/bench.Service/Echo", true, null);

  /** Bytes of request and answer. */
  @Param({"16", "581"})
  public int size;

  private final byte[] carried = new byte[1 << 20];
  private int filled;
  private byte[] message = {};
  private int ended;
  private Session client = session(true, new Answers(), MethodTable.EMPTY);
  private Session server = client;

  /** Joins two sessions, and has them greet and know the method. */
  @Setup
  public void join() {
    message = new byte[size];
    client = session(true, new Answers(), MethodTable.EMPTY);
    server = session(false, new Echo(), name -> SERVED);
    exchange();
    lone();
  }

  private static Session session(boolean initiator, Events events, MethodTable methods) {
    return new Session(
        events, initiator, 1, SessionConfig.builder().keepalive(0, 0).build(), methods);
  }

  /** One call, there and back. */
  @Benchmark
  public int lone() {
    return calls(1);
  }

  /** A hundred calls that go together, as one read and one write have them. */
  @Benchmark
  @OperationsPerInvocation(TOGETHER)
  public int together() {
    return calls(TOGETHER);
  }

  private int calls(int count) {
    ended = 0;
    for (int i = 0; i < count; i++) {
      if (client.unary(NAME, message, 0, size, 1, 0, null) == null) {
        throw new IllegalStateException("no slot");
      }
    }
    exchange();
    if (ended != count) {
      throw new IllegalStateException(ended + " of " + count + " calls have ended");
    }
    return ended;
  }

  private void exchange() {
    while (carry(client, server) | carry(server, client)) {
      // until neither has anything to say
    }
  }

  private boolean carry(Session from, Session to) {
    filled = 0;
    long size = from.take(this::copy);
    if (size == 0) {
      return false;
    }
    from.wrote(size);
    to.receive(carried, 0, filled, 1);
    to.dispatch(1);
    return true;
  }

  private void copy(byte[] array, int offset, int length, boolean lasting) {
    System.arraycopy(array, offset, carried, filled, length);
    filled += length;
  }

  /** Answers each call with its request. */
  private static final class Echo extends Silent {
    @Override
    public void start(IncomingCall call) {
      byte[] request = call.message();
      if (request == null) {
        throw new IllegalStateException("no request");
      }
      call.finish(request, 0, request.length, 0, Metadata.EMPTY);
    }
  }

  private final class Answers extends Silent {
    @Override
    public void ended(OutgoingCall call) {
      if (!call.hasMessage() || call.length() != size) {
        throw new IllegalStateException("the answer is another one: " + call.status());
      }
      ended++;
    }
  }

  /** Of a connection on which nothing else happens. */
  private static class Silent implements Events {
    @Override
    public void failed(ErrorClass kind, String text) {
      throw new IllegalStateException("the session has failed: " + text);
    }
  }
}
