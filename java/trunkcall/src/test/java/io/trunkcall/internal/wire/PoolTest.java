package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.io.ByteArrayOutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The pool that a receiver keeps: how large it is, and what it survives (limits.md 2). */
final class PoolTest {
  private static final int MIB = 1 << 20;
  private static final int MESSAGE = 65_520; // costs 65,536
  private static final int STEPS = 100; // of a round trip

  /** What is under way. */
  private record Carried(long arrives, byte[] bytes) {}

  /**
   * A client that sends to a server over a path, a long one as a rule: what is carried arrives half
   * a round trip later.
   */
  private static final class Far extends NoEvents {
    final List<IncomingCall> started = new ArrayList<>();
    final Session client;
    final Session server;
    final Way up = new Way();
    final Way down = new Way();
    long now;
    int thereAndBack = 50_000; // µs
    int stepBytes = MIB / 8; // that the line takes in a step
    boolean consumes = true;

    /** One direction. */
    private static final class Way {
      byte[] waiting = new byte[0];
      final Deque<Carried> carried = new ArrayDeque<>();
    }

    Far(int most) {
      Settings settings = Settings.DEFAULTS.toBuilder().pool(MIB).build();
      SessionConfig.Builder config = SessionConfig.builder().keepalive(0, 0);
      client = new Session(new NoEvents(), true, 0, config.build(), MethodTable.EMPTY);
      config.settings(settings).maxPool(most);
      server = new Session(this, false, 0, config.build(), Pair.METHODS);
      roundTrips(3);
    }

    @Override
    public void start(IncomingCall call) {
      started.add(call);
    }

    @Override
    public void arrived(IncomingCall call) {
      if (consumes) {
        call.takeMessage();
      }
    }

    /** Sends what the line takes in a step. */
    private void pass(Session source, Way way) {
      source.setNow(now);
      ByteArrayOutputStream waiting = new ByteArrayOutputStream();
      waiting.writeBytes(way.waiting);
      while (waiting.size() < stepBytes) {
        byte[] part = Vectors.take(source);
        if (part.length == 0) {
          break;
        }
        waiting.writeBytes(part);
      }
      byte[] all = waiting.toByteArray();
      int size = Math.min(all.length, stepBytes);
      source.wrote(size);
      way.waiting = Arrays.copyOfRange(all, size, all.length);
      way.carried.add(new Carried(now + thereAndBack / 2, Arrays.copyOf(all, size)));
    }

    private void arrive(Session target, Way way) {
      while (!way.carried.isEmpty() && way.carried.element().arrives <= now) {
        Vectors.receive(target, way.carried.remove().bytes, now);
      }
      target.dispatch(now);
      target.tick(now);
    }

    void roundTrips(int number) {
      for (int i = 0; i < number * STEPS; i++) {
        now += thereAndBack / STEPS;
        arrive(server, up);
        arrive(client, down);
        pass(client, up);
        pass(server, down);
      }
    }

    OutgoingCall open() {
      Opening opening = new Opening().end(false).single(false);
      OutgoingCall call = client.open(Pair.BOTH, null, 0, 0, opening, 0, null);
      roundTrips(1);
      return call;
    }

    /** Has more waiting on a stream all the time than credit lets go. */
    void push(OutgoingCall call, int roundTrips) {
      for (int i = 0; i < roundTrips; i++) {
        while (call.sending.outbox.size() < 1_000) {
          send(call, MESSAGE);
        }
        roundTrips(1);
      }
    }

    void assertBalanced() {
      Pool pool = server.pool;
      assertEquals(pool.kept, pool.left + pool.owed() + pool.charged());
    }
  }

  private static void send(OutgoingCall call, int size) {
    call.send(new byte[size], 0, size, 0, false);
  }

  @Test
  void itGrowsWithThePathUpToItsBound() {
    Far far = new Far(8 * MIB);
    far.push(far.open(), 4);
    assertEquals(8 * MIB, far.server.pool(), "a few round trips are enough");
  }

  @Test
  void aShortPathUnderLoadIsNoLongOne() {
    Far far = new Far(32 * MIB);
    far.thereAndBack = 100;
    far.stepBytes = 1_000;
    OutgoingCall call = far.open();
    far.server.pool.ping();
    far.roundTrips(2);
    far.push(call, 200);
    assertEquals(MIB, far.server.pool());
  }

  @Test
  void aNewStreamHasAtOnceWhatWasLearned() {
    Far far = new Far(8 * MIB);
    OutgoingCall first = far.open();
    far.push(first, 40);
    first.cancel(Session.GAVE_UP);
    far.roundTrips(2);
    far.open();
    assertTrue(far.client.sender.room() > 6 * MIB);
  }

  @Test
  void itStaysWhereItMustNotGrow() {
    Far far = new Far(0);
    far.push(far.open(), 40);
    assertEquals(MIB, far.server.pool());
  }

  @Test
  void itIsHalvedForEachMinuteWithoutUse() {
    Far far = new Far(8 * MIB);
    OutgoingCall call = far.open();
    far.push(call, 40);
    while (!call.sending.outbox.isEmpty()) {
      far.roundTrips(1);
    }
    far.now += 24L * 3_600 * 1_000_000;
    for (int i = 0; i < 60; i++) {
      send(call, MESSAGE);
      send(call, MESSAGE);
      send(call, MESSAGE);
      send(call, MESSAGE);
      send(call, MESSAGE);
      far.roundTrips(1);
    }
    assertTrue(far.server.pool() < 8 * MIB);
    assertTrue(far.server.pool() >= MIB);
  }

  @Test
  void aLargeMessageMakesItsOwnWayHoweverLongThePoolWasIdle() {
    Far far = new Far(32 * MIB);
    for (int i = 0; i < 2; i++) { // before the first charge, and after one
      far.now += 24L * 3_600 * 1_000_000;
      send(far.open(), 4 * MIB);
      far.roundTrips(6);
      assertEquals(6 * MIB, far.server.pool());
    }
  }

  @Test
  void answersThatComeTooEarlyOrNeverMeasureNothing() {
    Far far = new Far(32 * MIB);
    byte[] ack = Vectors.hex("00000007000000000000010001000000");
    Vectors.receive(far.server, ack, far.now);
    far.server.pool.ping();
    Vectors.receive(far.server, Vectors.hex("00000007000000000000010063000000"), far.now);
    assertEquals(MIB, far.server.pool());
    assertEquals(0, far.server.roundTrip());
  }

  @Test
  void allOfItIsAccountedFor() {
    Far far = new Far(4 * MIB);
    List<OutgoingCall> calls = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      calls.add(far.open());
    }
    for (int round = 0; round < 60; round++) {
      far.consumes = round % 3 != 0;
      for (OutgoingCall call : calls) {
        if (call.status() == null && call.sending.outbox.size() < 50) {
          send(call, 300_000);
        }
      }
      if (round == 20) {
        calls.get(0).cancel(Session.GAVE_UP);
      } else if (round == 30) {
        far.started.get(1).finish(Status.OK, Metadata.EMPTY);
      } else if (round == 40) {
        calls.get(2).cancel(Session.GAVE_UP);
      }
      far.roundTrips(1);
      far.assertBalanced();
    }
    calls.forEach(call -> call.cancel(Session.GAVE_UP));
    far.roundTrips(15);
    far.assertBalanced();
    assertEquals(0, far.server.pool.charged());
    assertEquals(0, far.server.share.promised + far.server.share.held);
    assertEquals(far.server.pool.left, far.client.sender.room());
  }

  @Test
  void streamsThatConsumeNothingLeaveThePoolToTheOthers() {
    Far far = new Far(4 * MIB);
    OutgoingCall fast = far.open();
    List<OutgoingCall> stalled = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      stalled.add(far.open());
    }
    far.consumes = false;
    for (OutgoingCall call : stalled) {
      for (int i = 0; i < 20; i++) {
        send(call, MESSAGE);
      }
    }
    far.roundTrips(300);
    assertTrue(far.client.sender.room() >= MIB / 4);
    far.consumes = true;
    send(fast, MIB);
    far.roundTrips(20);
    assertTrue(fast.sending.outbox.isEmpty());
  }
}
