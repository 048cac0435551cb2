package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.Session;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ObserverTest {
  private static final Handler SAY =
      Handler.unary(Texts.SAY, (request, call) -> request + " from the server").inline();

  /** Blocks in what it is told first, until it may go on. */
  private static final class Blocking implements Observer, AttemptObserver {
    final CompletableFuture<Void> blocks = new CompletableFuture<>();
    final CompletableFuture<Void> goOn = new CompletableFuture<>();
    final List<String> told = Collections.synchronizedList(new ArrayList<>());

    private void tell(String what) {
      blocks.complete(null);
      Pair.await(goOn);
      told.add(what);
    }

    @Override
    public void connected(Connection connection) {
      tell("connected");
    }

    @Override
    public void connectFailed(String target, String why) {
      tell("failed");
    }

    @Override
    public void disconnected(Connection connection, String why) {
      tell("disconnected");
    }

    @Override
    public void attemptBegan(CallAttempt attempt) {
      tell("began " + attempt.status());
    }

    @Override
    public void attemptEnded(CallAttempt attempt) {
      tell("ended " + attempt.status().code());
    }
  }

  @Test
  void oneThatBlocksHoldsUpNoCall() throws Exception {
    Blocking connections = new Blocking();
    Blocking attempts = new Blocking();
    try (Pair pair =
        new Pair(
            s -> s.serve(SAY).observer(connections),
            c -> c.observer(connections).attemptObserver(attempts))) {
      assertEquals("a from the server", Pair.await(pair.client.callAsync(Texts.SAY, "a")));
      Pair.await(connections.blocks);
      Pair.await(attempts.blocks);
      attempts.goOn.complete(null);
    } finally {
      connections.goOn.complete(null);
    }
    Pair.until(() -> attempts.told.size() == 2, "the attempt was not told");
    assertEquals(List.of("began null", "ended OK"), attempts.told);
    Pair.until(() -> connections.told.size() == 4, "the ends were not told");
    assertEquals("disconnected", connections.told.get(3));
  }

  @Test
  void oneThatBlocksForOneConnectionIsToldOfOthers() throws Exception {
    CompletableFuture<Void> goOn = new CompletableFuture<>();
    CompletableFuture<String> second = new CompletableFuture<>();
    List<Connection> came = Collections.synchronizedList(new ArrayList<>());
    Observer observer =
        new Observer() {
          @Override
          public void connected(Connection connection) {
            came.add(connection);
            if (came.size() == 1) {
              Pair.await(goOn);
            } else {
              second.complete("came");
            }
          }
        };
    try (Pair pair = new Pair(s -> s.serve(SAY).observer(observer), c -> {})) {
      Pair.await(pair.client.connect());
      Pair.until(() -> came.size() == 1, "the first was not told");
      try (Client another = Client.of("127.0.0.1:" + pair.server.port())) {
        Pair.await(another.connect());
        assertEquals("came", Pair.await(second));
      }
    } finally {
      goOn.complete(null);
    }
  }

  @Test
  void oneMayCloseWhatItIsToldOf() throws Exception {
    CompletableFuture<Client> there = new CompletableFuture<>();
    CompletableFuture<String> over = new CompletableFuture<>();
    Observer observer =
        new Observer() {
          @Override
          public void connected(Connection connection) {
            Pair.await(there).close();
          }

          @Override
          public void disconnected(Connection connection, String why) {
            over.complete(why);
          }
        };
    try (Pair pair = new Pair(s -> s.serve(SAY), c -> c.observer(observer))) {
      there.complete(pair.client);
      pair.client.connect();
      assertEquals("the client is closed", Pair.await(over));
    }
  }

  @Test
  void tooManyThatWaitBehindOneAreDroppedAndCounted() throws Exception {
    Blocking blocking = new Blocking();
    try (Client client = Client.builder("127.0.0.1:1").observer(blocking).build()) {
      client.told().connectFailed("first", "");
      Pair.await(blocking.blocks);
      for (int i = 0; i < Sequence.LONGEST + 3; i++) {
        client.told().connectFailed("more", "");
      }
      assertEquals(3, Pair.await(client.gauges()).droppedEvents());
      blocking.goOn.complete(null);
      Pair.until(() -> blocking.told.size() == Sequence.LONGEST + 1, "the others were not told");
      client.told().connectFailed("last", "");
      Pair.until(() -> blocking.told.size() == Sequence.LONGEST + 2, "it is told no more");
      assertEquals(3, Pair.await(client.gauges()).droppedEvents());
    } finally {
      blocking.goOn.complete(null);
    }
  }

  @Test
  void anAttemptWhoseBeginWasToldIsToldToItsEnd() {
    Blocking blocking = new Blocking();
    ToldAttempts attempts = new ToldAttempts(blocking, new DroppedEvents());
    assertNotNull(attempts.began(attempt(), 0));
    Pair.await(blocking.blocks);
    List<ToldAttempt> begun = new ArrayList<>();
    for (int i = 0; i < Sequence.LONGEST; i++) {
      ToldAttempt one = attempts.began(attempt(), 0);
      assertNotNull(one);
      begun.add(one);
    }
    assertNull(attempts.began(attempt(), 0));
    begun.forEach(one -> attempts.ended(one, Status.OK));
    blocking.goOn.complete(null);
    Pair.until(() -> blocking.told.size() == 2 * Sequence.LONGEST + 1, "not all was told");
    assertEquals("ended OK", blocking.told.get(2 * Sequence.LONGEST));
  }

  private static CallAttempt attempt() {
    return new CallAttempt(Texts.SAY, 1, null, "", 0, 0);
  }

  @Test
  void anAttemptThatFailsOnceItBeganIsToldToItsEnd() throws Exception {
    List<String> told = Collections.synchronizedList(new ArrayList<>());
    AttemptObserver observer =
        new AttemptObserver() {
          @Override
          public void attemptBegan(CallAttempt attempt) {
            told.add("began");
          }

          @Override
          public void attemptEnded(CallAttempt attempt) {
            told.add("ended " + attempt.status().code() + " " + attempt.status().delivery());
          }
        };
    try (Pair pair = new Pair(s -> s.serve(SAY), c -> c.attemptObserver(observer))) {
      Pair.await(pair.client.connect());
      Faulty call = new Faulty(pair.client);
      pair.client.hand(call);
      assertEquals(Code.INTERNAL, Pair.await(call.failure).status().code());
      Pair.until(() -> told.size() == 2, "its end was not told");
      assertEquals(List.of("began", "ended INTERNAL UNKNOWN"), told);
    }
  }

  /** A call that is open when it fails here. */
  private static final class Faulty extends OpeningCall {
    final CompletableFuture<StatusException> failure = new CompletableFuture<>();

    Faulty(Client client) {
      super(client, Texts.SAY, Metadata.EMPTY, 0, 0, false, null);
    }

    @Override
    OutgoingCall append(Session session) {
      return session.unary(method.wireName(), new byte[0], 0, 0, 1, 0, this);
    }

    @Override
    void opened() {
      throw new IllegalStateException("of the test");
    }

    @Override
    void failed(StatusException failed) {
      failure.complete(failed);
    }

    @Override
    void ended(OutgoingCall call, Status status) {
      failure.completeExceptionally(new AssertionError("it has ended: " + status));
    }

    @Override
    int firstBytes() {
      return 0;
    }
  }
}
