package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.UserProtocolFixtures.Broker;
import io.trunkcall.UserProtocolFixtures.Queues;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Protocols of a user's that have no listener. */
@Timeout(120)
class ProtocolTest {
  private final Broker broker = new Broker();
  private Server server;

  private Server serve(Protocol protocol, Handler... handlers) throws IOException {
    server =
        Server.builder().protocol(protocol).serve(handlers).listen("127.0.0.1:0").build().start();
    return server;
  }

  @AfterEach
  void close() {
    if (server != null) {
      server.close();
    }
  }

  private static Handler echo() {
    return Handler.unary(Texts.SAY, (request, call) -> request + " by " + call.peer());
  }

  @Test
  void callsOfABrokerAreServedLikeAllOthers() throws Exception {
    LinkedBlockingQueue<Arrival> arrivals = new LinkedBlockingQueue<>();
    server =
        Server.builder()
            .protocol(broker)
            .admission(
                arrival -> {
                  arrivals.add(arrival);
                  return Admitted.as("somebody");
                })
            .serve(
                Handler.unary(
                    Texts.SAY,
                    (request, call) -> {
                      call.setHeaders(Metadata.of("ahead", "1"));
                      call.setTrailers(Metadata.of("behind", "2"));
                      return request + " of " + call.principal() + " by " + call.peer();
                    }))
            .build()
            .start();
    assertSame(Texts.SAY, broker.calls.method(Texts.SAY.name()));
    assertNull(broker.calls.method("/test.Texts/None"));
    Queues messages = Queues.of("hello");
    IncomingCall call =
        IncomingCall.of(Texts.SAY.name(), Codec.RAW)
            .withMetadata(Metadata.of("from", "queue"))
            .withAuthority("example.com")
            .withPeer("mq:7")
            .withTimeout(Duration.ofMinutes(5));
    Ending ending = Pair.await(broker.calls.serve(call, messages));
    assertTrue(ending.status().ok());
    assertEquals("2", ending.trailers().get("behind"));
    assertEquals("1", messages.headers.get("ahead"));
    assertEquals("hello of somebody by mq:7", messages.answer());
    Arrival arrival = arrivals.remove();
    assertEquals("broker", arrival.protocol());
    assertEquals("example.com", arrival.authority());
    assertEquals("queue", arrival.metadata().get("from"));
    assertTrue(arrival.timeRemaining().toSeconds() > 60);
    assertEquals(List.of(), server.connections());
  }

  @Test
  void streamsGoBothWaysOneAfterTheOther() throws Exception {
    Handler talk =
        Handler.bidiStream(
            Texts.TALK,
            (requests, answers, call) -> {
              for (String one : requests) {
                answers.send(one + "!");
              }
            });
    serve(broker, talk);
    Queues messages = new Queues();
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.TALK.name(), Codec.RAW), messages);
    messages.add("a");
    assertEquals("a!", messages.answer());
    messages.add("b");
    assertEquals("b!", messages.answer());
    messages.requests.add(CompletableFuture.completedFuture(null));
    assertTrue(Pair.await(ending).status().ok());
  }

  @Test
  void theProtocolMayKeepTheArraysOfRequests() throws Exception {
    Handler join =
        Handler.clientStream(
            Texts.JOIN,
            (requests, call) -> {
              int length = 0;
              for (String one : requests) {
                length += one.length();
              }
              return "" + length;
            });
    serve(broker, join);
    byte[] request = new byte[200_000];
    Queues messages = new Queues();
    messages.add(request);
    messages.requests.add(CompletableFuture.completedFuture(null));
    assertTrue(broker.serve(Texts.JOIN, messages).status().ok());
    assertEquals("200000", messages.answer());
    assertFalse(Pair.isUsedAgain(request));
  }

  @Test
  void aSenderWaitsForThePlaceOfTheMessageBefore() throws Exception {
    AtomicInteger sent = new AtomicInteger();
    Handler count =
        Handler.serverStream(
            Texts.COUNT,
            (request, answers, call) -> {
              String piece = "x".repeat(40_000);
              for (int number = 0; number < 100; number++) {
                answers.send(piece);
                sent.incrementAndGet();
              }
            });
    serve(broker, count);
    Queues messages = Queues.of("go");
    CompletableFuture<Void> place = new CompletableFuture<>();
    messages.takes = place;
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.COUNT.name(), Codec.RAW), messages);
    assertEquals(40_000, messages.answer().length());
    assertTrue(sent.get() < 50, "what is sent is not bounded: " + sent.get());
    assertFalse(ending.isDone());
    messages.takes = CompletableFuture.completedFuture(null);
    place.complete(null);
    assertTrue(Pair.await(ending).status().ok());
    assertEquals(99, messages.answers.size());
  }

  @Test
  void whatCannotBeServedIsRefused() throws Exception {
    server =
        Server.builder()
            .protocol(broker)
            .limits(Limits.DEFAULTS.withMessageBytes(1_000))
            .serve(echo())
            .build()
            .start();
    assertRefused(Code.UNIMPLEMENTED, broker.serve(Texts.OTHER, Queues.of("a")));
    IncomingCall inJson = IncomingCall.of(Texts.SAY.name(), Codec.JSON);
    assertRefused(Code.UNIMPLEMENTED, Pair.await(broker.calls.serve(inJson, Queues.of("a"))));
    assertRefused(Code.UNIMPLEMENTED, broker.serve(Texts.SAY, Queues.of()));
    assertRefused(Code.UNIMPLEMENTED, broker.serve(Texts.SAY, Queues.of("a", "b")));
    assertRefused(Code.RESOURCE_EXHAUSTED, broker.serve(Texts.SAY, Queues.of("a".repeat(1_001))));
    Queues cut = new Queues();
    cut.requests.add(CompletableFuture.failedFuture(new IOException("gone")));
    assertRefused(Code.INVALID_ARGUMENT, broker.serve(Texts.SAY, cut));
    Queues own = new Queues();
    own.requests.add(
        CompletableFuture.failedFuture(new StatusException(Code.DATA_LOSS, "half a message")));
    assertRefused(Code.DATA_LOSS, broker.serve(Texts.SAY, own));
    IncomingCall late = IncomingCall.of(Texts.SAY.name(), Codec.RAW).withTimeout(Duration.ZERO);
    assertRefused(Code.DEADLINE_EXCEEDED, Pair.await(broker.calls.serve(late, new Queues())));
    assertEquals(8, Pair.await(server.gauges()).refused());
    assertEquals(0, Pair.await(server.gauges()).heldBytes());
  }

  private static void assertRefused(Code code, Ending ending) {
    assertEquals(code, ending.status().code(), ending.toString());
    assertEquals(Delivery.REFUSED, ending.status().delivery(), ending.toString());
  }

  @Test
  void anExecutorThatTakesNoMoreEndsCallsAsTheyAre() throws Exception {
    AtomicReference<Error> failure = new AtomicReference<>();
    AtomicBoolean refuses = new AtomicBoolean();
    Executor executor =
        task -> {
          if (failure.get() != null) {
            throw failure.get();
          } else if (refuses.get()) {
            throw new RejectedExecutionException("of the test");
          }
          new Thread(task).start();
        };
    Handler says =
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              refuses.set(true);
              return request;
            });
    server = Server.builder().protocol(broker).executor(executor).serve(says).build().start();
    Status behind = broker.serve(Texts.SAY, Queues.of("a")).status();
    assertEquals(Code.CANCELLED, behind.code(), "the answer could not be sent");
    assertRefused(Code.UNAVAILABLE, broker.serve(Texts.SAY, Queues.of("b")));
    failure.set(new OutOfMemoryError("of the test"));
    assertRefused(Code.UNAVAILABLE, broker.serve(Texts.SAY, Queues.of("c")));
  }

  @Test
  void aHandlerThatFailsIsExecuted() throws Exception {
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              throw new StatusException(Code.NOT_FOUND, "there is no " + request);
            }));
    Status status = broker.serve(Texts.SAY, Queues.of("a")).status();
    assertEquals(Code.NOT_FOUND, status.code());
    assertEquals(Delivery.EXECUTED, status.delivery());
  }

  @Test
  void aCallerThatIsGoneInterruptsTheHandler() throws Exception {
    CompletableFuture<Void> began = new CompletableFuture<>();
    CompletableFuture<Void> interrupted = new CompletableFuture<>();
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              began.complete(null);
              try {
                return new CompletableFuture<String>().get();
              } catch (InterruptedException e) {
                interrupted.complete(null);
                throw e;
              }
            }));
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), Queues.of("a"));
    Pair.await(began);
    ending.cancel(true);
    Pair.await(interrupted);
    Pair.until(() -> Pair.await(server.gauges()).callsServed() == 0, "it is still served");
  }

  @Test
  void stoppingWaitsForTheProtocolAndItsCalls() throws Exception {
    CompletableFuture<String> answer = new CompletableFuture<>();
    CompletableFuture<Void> began = new CompletableFuture<>();
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              began.complete(null);
              return answer.get();
            }));
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), Queues.of("a"));
    Pair.await(began);
    CompletableFuture<Boolean> stopped =
        CompletableFuture.supplyAsync(() -> server.stop(Duration.ofSeconds(60)));
    Pair.await(broker.stopped);
    assertRefused(Code.UNAVAILABLE, broker.serve(Texts.SAY, Queues.of("b")));
    assertFalse(stopped.isDone());
    answer.complete("late");
    assertTrue(Pair.await(ending).status().ok());
    assertTrue(Pair.await(stopped));
  }

  @Test
  void theEndOfTheGraceCutsOffCallsAndInterruptsWhoStops() throws Exception {
    CompletableFuture<Void> interrupted = new CompletableFuture<>();
    broker.stopping =
        () -> {
          try {
            new CompletableFuture<Void>().get();
          } catch (InterruptedException e) {
            interrupted.complete(null);
          } catch (java.util.concurrent.ExecutionException e) {
            throw new AssertionError(e);
          }
          return null;
        };
    CompletableFuture<Void> began = new CompletableFuture<>();
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              began.complete(null);
              return new CompletableFuture<String>().get();
            }));
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), Queues.of("a"));
    Pair.await(began);
    assertFalse(server.stop(Duration.ZERO));
    assertEquals(Code.UNAVAILABLE, Pair.await(ending).status().code());
    Pair.await(interrupted);
  }

  @Test
  void callsWhoseAnswerIsNeverTakenEndWhenTheyAreCancelledOrTheGraceIsOver() throws Exception {
    serve(broker, echo());
    Queues[] messages = {Queues.of("a"), Queues.of("b")};
    List<CompletableFuture<Ending>> endings = new ArrayList<>();
    for (Queues one : messages) {
      one.takes = new CompletableFuture<>();
      endings.add(broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), one));
      one.answer();
    }
    endings.get(0).cancel(false);
    Pair.until(() -> Pair.await(server.gauges()).callsServed() == 1, "it is still served");
    assertFalse(server.stop(Duration.ZERO));
    assertEquals(Code.UNAVAILABLE, Pair.await(endings.get(1)).status().code());
  }

  @Test
  void aStartThatFailsIsTriedAgainWithTheNextListener() throws Exception {
    broker.stopping = null; // it fails once
    server = Server.builder().protocol(broker).serve(echo()).build();
    IOException why = assertThrows(IOException.class, () -> server.listen("127.0.0.1:0"));
    assertEquals("protocol broker: no broker", why.getMessage());
    broker.stopping = () -> null;
    server.listen("127.0.0.1:0");
    server.listen("127.0.0.1:0");
    assertEquals(2, broker.starts.get());
    assertTrue(broker.serve(Texts.SAY, Queues.of("a")).status().ok());
  }
}
