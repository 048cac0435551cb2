package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the layers above rely on: slots, delivery, draining, limits, the order of writing. */
final class SessionTest {
  private static final byte[] REPLY = {'r'};

  private static SessionConfig.Builder told(Settings settings) {
    return SessionConfig.builder().settings(settings);
  }

  private static void send(OutgoingCall call, int size) {
    call.send(new byte[size], 0, size, 0, false);
  }

  private static void send(IncomingCall call, int size) {
    call.send(new byte[size], 0, size, 0);
  }

  // Calls and their slots.

  @Test
  void aUnaryCallIsAnsweredWith32BytesOfHeaders() {
    Pair pair = new Pair();
    pair.unary();
    pair.exchange(1);
    Pair.answer(pair.there.started.remove(0), REPLY);
    pair.exchange(1);
    OutgoingCall call = pair.unary();
    byte[] request = Vectors.take(pair.client);
    assertEquals(17, request.length);
    Vectors.receive(pair.server, request, 2);
    pair.server.dispatch(2);
    assertArrayEquals(Pair.MESSAGE, pair.served().message());
    Pair.answer(pair.served(), REPLY);
    byte[] response = Vectors.take(pair.server);
    assertEquals(17, response.length);
    Vectors.receive(pair.client, response, 3);
    assertSame(Status.OK, call.status());
    assertArrayEquals(REPLY, pair.here.answers.get(1));
    assertFalse(call.hasMessage(), "the array belongs to the input");
  }

  @Test
  void theLowestFreeSlotIsTakenWithTheNextGeneration() {
    Pair pair = new Pair();
    for (int slot = 1; slot <= 3; slot++) {
      assertEquals(1 << 20 | slot, pair.unary().id());
    }
    pair.exchange(1);
    Pair.answer(pair.there.started.get(1), REPLY);
    Pair.answer(pair.there.started.get(0), REPLY);
    pair.exchange(2);
    assertEquals(2 << 20 | 1, pair.unary().id());
    assertEquals(2 << 20 | 2, pair.unary().id());
    assertEquals(1 << 20 | 4, pair.unary().id());
  }

  @Test
  void generationsWrapFrom2047To1() {
    Pair pair = new Pair();
    for (int i = 0; i < 2_047; i++) {
      assertNotNull(pair.unary());
      pair.exchange(1);
      Pair.answer(pair.there.started.remove(0), REPLY);
      pair.exchange(1);
    }
    assertEquals(1 << 20 | 1, pair.unary().id());
    pair.exchange(1);
    assertEquals(1, pair.there.started.size());
  }

  @Test
  void withoutASlotACallWaitsAboveAndIsTold() {
    Settings one = Settings.DEFAULTS.toBuilder().maxCalls(1).build();
    Pair pair = Pair.greeted(SessionConfig.builder(), told(one));
    assertNotNull(pair.unary());
    assertNull(pair.unary());
    assertTrue(pair.client.acceptsCalls());
    pair.exchange(1);
    Pair.answer(pair.served(), REPLY);
    pair.exchange(1);
    assertEquals(1, pair.here.slots);
    assertNotNull(pair.unary());
  }

  @Test
  void aFullMethodTableSendsNamesInline() {
    Pair pair = new Pair();
    for (int i = 0; i < 4_096; i++) {
      MethodName name = new MethodName("/x/m" + i);
      OutgoingCall call = pair.client.unary(name, REPLY, 0, 1, 1, 0, null);
      pair.exchange(1);
      assertEquals(Code.UNIMPLEMENTED, call.status().code());
    }
    OutgoingCall call = pair.unary();
    assertEquals(List.of("CALL"), Pair.frames(Vectors.take(pair.client)));
    assertNotNull(call);
  }

  @Test
  void aNameIsDefinedOnceWhicheverObjectHasIt() {
    Pair pair = new Pair();
    pair.unary();
    pair.client.unary(new MethodName("/t.S/Unary"), REPLY, 0, 1, 1, 0, null);
    assertEquals(List.of("DEFINE", "CALL", "CALL"), Pair.frames(Vectors.take(pair.client)));
  }

  @Test
  void gaugesReturnToZeroOnSlotsUsedAgain() {
    Pair pair = new Pair();
    for (int round = 0; round < 4; round++) {
      for (int i = 0; i < 3; i++) {
        pair.client.unary(Pair.UNARY, Pair.MESSAGE, 0, 1, 1, 1_000_000, null);
      }
      pair.exchange(round);
      assertEquals(3, pair.client.ownCalls());
      assertEquals(3, pair.server.servedCalls());
      assertEquals(3, pair.server.load.running());
      pair.there.started.forEach(call -> Pair.answer(call, REPLY));
      pair.there.started.clear();
      pair.exchange(round);
      assertEquals(0, pair.client.ownCalls());
      assertEquals(0, pair.server.servedCalls());
      assertEquals(0, pair.server.load.running());
      assertEquals(0, pair.server.share.promised);
      assertEquals(0, pair.client.share.promised);
    }
    assertEquals(12, pair.here.ended.size());
  }

  // Draining.

  @Test
  void bothSidesCloseInOrder() {
    Pair pair = new Pair();
    pair.unary();
    pair.exchange(1);
    pair.server.drain(2, false);
    pair.exchange(2);
    assertFalse(pair.client.acceptsCalls());
    assertFalse(pair.server.halfClose() || pair.client.closed());
    Pair.answer(pair.served(), REPLY);
    pair.exchange(3);
    assertSame(Status.OK, pair.here.ended.get(0).status());
    assertTrue(pair.client.closed(), "it did not ask");
    assertTrue(pair.server.halfClose());
    assertFalse(pair.server.closed(), "it reads to the end");
    pair.server.endOfStream(4);
    assertTrue(pair.server.closed());
  }

  @Test
  void oneWhoIsToAskBeforeTheOtherHasSpokenMayStillCall() {
    Pair pair = new Pair(SessionConfig.builder(), SessionConfig.builder());
    pair.unary();
    pair.server.drain(1, true);
    pair.exchange(1);
    assertFalse(pair.client.acceptsCalls());
    assertTrue(pair.server.acceptsCalls(), "as the handler of the one call may need");
    Pair.answer(pair.served(), REPLY);
    pair.exchange(2);
    assertSame(Status.OK, pair.here.ended.get(0).status());
    assertTrue(pair.client.closed());
  }

  // Delivery and time.

  @Test
  void aCallOfWhichNoByteLeftIsNotSentWhenTheConnectionIsLost() {
    Pair pair = Pair.greeted(SessionConfig.builder().exact(true), SessionConfig.builder());
    OutgoingCall first = pair.unary();
    OutgoingCall second = pair.unary();
    Vectors.take(pair.client);
    pair.client.wrote(second.position - pair.client.output.written());
    pair.client.endOfStream(1);
    assertEquals(Delivery.UNKNOWN, first.status().delivery());
    assertEquals(Delivery.NOT_SENT, second.status().delivery());
  }

  @Test
  void whatWasTakenCountsAsPassedOnUnlessTheLayerBelowIsExact() {
    Pair pair = new Pair();
    OutgoingCall first = pair.unary();
    Vectors.take(pair.client);
    OutgoingCall second = pair.unary();
    pair.client.lost(1, "reset");
    assertEquals(Delivery.UNKNOWN, first.status().delivery());
    assertEquals(Delivery.NOT_SENT, second.status().delivery());
  }

  @Test
  void theDeadlineAndTheAnswerHaveOneOutcome() {
    Pair pair = new Pair();
    OutgoingCall call = pair.client.unary(Pair.UNARY, Pair.MESSAGE, 0, 1, 1, 1_000, null);
    pair.exchange(10);
    Pair.answer(pair.served(), REPLY);
    assertEquals(1_000, pair.client.nextDeadline());
    pair.client.tick(1_000);
    pair.exchange(1_001);
    assertEquals(1, pair.here.ended.size());
    assertEquals(Code.DEADLINE_EXCEEDED, call.status().code());
    assertEquals(0, pair.client.ownCalls() + pair.server.servedCalls());
    assertEquals(0, pair.server.load.running());
  }

  @Test
  void aConnectionWhoseResultIsOverdueClosesWhenNoOtherCallLives() {
    Pair pair = new Pair();
    OutgoingCall givenUp = pair.unary();
    OutgoingCall lives = pair.unary();
    pair.exchange(0);
    givenUp.cancel(Session.GAVE_UP);
    Vectors.take(pair.client); // and the CANCEL is lost
    pair.client.tick(29_999_999);
    assertTrue(pair.client.acceptsCalls());
    assertEquals(30_000_000, pair.client.nextDeadline());
    pair.client.tick(30_000_000);
    assertFalse(pair.client.acceptsCalls());
    assertEquals(1, pair.here.overdue);
    Vectors.take(pair.client);
    assertFalse(pair.client.closed());
    Pair.answer(pair.there.started.get(1), REPLY);
    pair.exchange(30_000_001);
    assertNotNull(lives.status());
    assertTrue(pair.client.closed());
  }

  // Limits.

  @Test
  void runningHandlersAreBoundedOverAllSessionsOfAProcess() {
    Load load = new Load(2, 1 << 30);
    List<Pair> pairs = new ArrayList<>();
    List<OutgoingCall> calls = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Pair pair = Pair.greeted(SessionConfig.builder(), SessionConfig.builder().load(load));
      pairs.add(pair);
      calls.add(pair.unary());
    }
    pairs.forEach(pair -> pair.exchange(1));
    assertNull(calls.get(0).status());
    assertNull(calls.get(1).status());
    Status refused = calls.get(2).status();
    assertEquals(Code.RESOURCE_EXHAUSTED, refused.code());
    assertEquals(Delivery.REFUSED, refused.delivery());
    assertTrue(refused.retryAfter().toMillis() >= 1);
    assertEquals(1, load.refused());
    Pair.answer(pairs.get(0).served(), REPLY);
    assertEquals(1, load.running());
  }

  @Test
  void aHandlerThatIgnoresItsEndCountsUntilItReturns() {
    Pair pair = new Pair();
    OutgoingCall call = pair.unary();
    pair.exchange(1);
    call.cancel(Session.GAVE_UP);
    pair.exchange(2);
    assertEquals(pair.there.started, pair.there.stopped);
    assertEquals(0, pair.server.servedCalls());
    assertEquals(1, pair.server.load.running());
    Pair.answer(pair.served(), REPLY);
    assertEquals(0, pair.server.load.running());
    assertEquals(0, Vectors.take(pair.server).length);
  }

  @Test
  void whatThePeerWouldNotTakeIsNotSent() {
    Settings small = Settings.DEFAULTS.toBuilder().maxMessage(10).build();
    Pair pair = Pair.greeted(SessionConfig.builder(), told(small));
    byte[] long11 = new byte[11];
    LimitException limit =
        assertThrows(
            LimitException.class, () -> pair.client.unary(Pair.UNARY, long11, 0, 11, 1, 0, null));
    assertTrue(limit.getMessage().contains("max_message 10:"));
    OutgoingCall stream = pair.stream();
    assertThrows(LimitException.class, () -> send(stream, 11));
    assertThrows(IllegalArgumentException.class, () -> stream.send(REPLY, 0, 1, 1, false));
    pair.exchange(1);
    assertNull(stream.status());
  }

  @Test
  void pingsThatAreNotAnsweredFastEnoughAreAFlood() {
    Pair pair = new Pair();
    byte[] ping = Vectors.hex("00000007000000000000000000000000");
    for (int i = 0; i < 1_024; i++) {
      Vectors.receive(pair.server, ping, 1);
    }
    assertFalse(pair.server.halfClose());
    Vectors.take(pair.server);
    Vectors.receive(pair.server, ping, 1); // taken, but not written
    assertEquals(List.of("flood"), pair.there.failures);
  }

  @Test
  void aRefusalIsOneAlsoWhenCreditCameBefore() {
    Pair pair = new Pair();
    OutgoingCall call = pair.stream();
    byte[] credit = Vectors.join(Vectors.hex("00000005"), Vectors.hex("01001000"), new byte[8]);
    credit[12] = 1;
    Vectors.receive(pair.server, credit, 1);
    pair.served().refuse(Status.of(Code.UNAVAILABLE, "not now"), Metadata.EMPTY);
    pair.exchange(2);
    assertEquals(Delivery.REFUSED, call.status().delivery());
  }

  @Test
  void streamsThatEndWhileTheyWaitForCreditAreForgotten() {
    Pair pair = new Pair();
    for (int i = 0; i < 10; i++) {
      OutgoingCall call = pair.stream();
      send(pair.served(), 1 << 20);
      pair.exchange(2);
      call.cancel(Session.GAVE_UP);
      pair.exchange(3);
    }
    assertEquals(0, pair.server.sender.waitingForCredit());
    assertEquals(0, pair.server.share.held);
  }

  // Writing.

  @Test
  void smallMessagesGoAheadOfPiecesAndPiecesTakeTurns() {
    Pair pair = new Pair();
    OutgoingCall first = pair.stream();
    OutgoingCall second = pair.stream();
    send(first, 200_000);
    send(second, 200_000);
    pair.unary();
    byte[] data = Vectors.take(pair.client);
    assertEquals(List.of("DEFINE", "CALL", "DATA", "DATA"), Pair.frames(data));
    // 128 KiB are unsent: no more than one piece a write.
    assertEquals(List.of("DATA"), Pair.frames(Vectors.take(pair.client)));
  }

  @Test
  void aMessageOfAMebibyteLeavesWithOneWrite() {
    Pair pair = new Pair();
    OutgoingCall call = pair.stream();
    call.sending.window = 4 << 20;
    send(call, (1 << 20) + 5);
    assertTrue(Vectors.take(pair.client).length > (1 << 20) + 5);
    assertEquals(0, Vectors.take(pair.client).length);
  }

  @Test
  void aSenderWithoutCreditIsToldWhenItMayGoOn() {
    Pair pair = new Pair();
    OutgoingCall call = pair.stream();
    send(call, 400_000);
    pair.exchange(2);
    assertEquals(List.of(call), pair.here.writable, "pieces are credited as they come");
    send(call, 300_000);
    pair.exchange(3);
    assertEquals(1, pair.here.writable.size(), "the first message is not consumed");
    assertEquals(400_000, pair.served().takeMessage().bytes().length);
    pair.exchange(4);
    assertEquals(2, pair.here.writable.size());
  }

  @Test
  void aResultWaitsForTheMessagesBeforeIt() {
    Pair pair = new Pair();
    OutgoingCall call = pair.stream();
    send(pair.served(), 300_000);
    pair.served().finish(Status.of(Code.NOT_FOUND, "behind"), Metadata.EMPTY);
    pair.exchange(2);
    assertEquals("behind", call.status().message());
    assertEquals(300_000, call.takeMessage().bytes().length);
    assertEquals(0, pair.client.share.promised);
  }

  @Test
  void aSlotIsFreeWhenItsResultHasMovedToTheWriter() {
    Pair pair = new Pair();
    pair.unary();
    pair.exchange(1);
    Pair.answer(pair.served(), REPLY);
    byte[] again = Vectors.hex("0100000201002000010003010000000000");
    Vectors.receive(pair.server, again, 2);
    assertEquals(List.of("state"), pair.there.failures); // its RESULT cannot have been read yet
    assertEquals(List.of("RESULT", "GOAWAY"), Pair.frames(Vectors.take(pair.server)));
  }

  @Test
  void aLargePayloadIsWrittenFromWhereItLies() {
    Pair pair = new Pair();
    OutgoingCall call = pair.stream();
    byte[] message = new byte[60_000];
    call.send(message, 0, message.length, 0, false);
    List<byte[]> lasting = new ArrayList<>();
    pair.client.take(
        (array, offset, length, lasts) -> {
          if (lasts) {
            lasting.add(array);
          }
        });
    assertEquals(1, lasting.size());
    assertSame(message, lasting.get(0));
  }

  // Memory.

  @Test
  void theConnectionThatHoldsMostLetsGoWhenItsOwnThreadIsAsked() {
    Load load = new Load(16_384, 1 << 20);
    Pair greedy = Pair.greeted(SessionConfig.builder(), SessionConfig.builder().load(load));
    Pair modest = Pair.greeted(SessionConfig.builder(), SessionConfig.builder().load(load));
    List<OutgoingCall> held = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      OutgoingCall call = greedy.stream();
      held.add(call);
      send(call, 200_000);
      greedy.exchange(2);
    }
    assertEquals(0, greedy.there.asked);
    OutgoingCall call = modest.stream();
    send(call, 250_000);
    modest.exchange(3);
    assertEquals(1, greedy.there.asked);
    assertEquals(List.of(), greedy.there.stopped, "its session belongs to another thread");
    assertNull(call.status());
    greedy.server.relieve(4);
    greedy.exchange(4);
    assertEquals(Code.RESOURCE_EXHAUSTED, held.get(0).status().code());
    assertNull(held.get(4).status());
    assertTrue(load.memoryUsed() <= 1 << 20);
  }
}
