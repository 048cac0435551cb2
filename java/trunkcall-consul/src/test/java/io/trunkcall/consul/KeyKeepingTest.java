package io.trunkcall.consul;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Written;
import java.io.IOException;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a registrar asks of an agent, and makes of its answers (registry.md 10.5). */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class KeyKeepingTest {
  private static final Written OWN = record("127.0.0.1:9");
  private static final Written OTHER = record("127.0.0.1:10");
  private static final String FORM = "Consul's answer is not what it documents";
  private static final String TAKEN =
      "s/x: another server is published under this id, at 127.0.0.1:10";
  private static final String LOST = "s/x was removed, or written by somebody else";
  private static final String CREATE = "PUT session/create";
  private static final String LOOK = "GET kv/r/v1/s/x/";
  private static final String TXN = "PUT txn";
  private static final String INFO = "GET session/info/aa-11?consistent";
  private static final String RENEW = "PUT session/renew/";

  private final AtomicLong clock = new AtomicLong(); // ns
  private PlayedAgent played;

  private static Written record(String address) {
    return new Written(ServiceRecord.builder("s", "x", address).build());
  }

  private static String key(Written one) {
    return "r/v1/s/" + Listing.nameOf("x", one.data());
  }

  private static String pair(String key, byte[] value) {
    String text = Base64.getEncoder().encodeToString(value);
    return "{\"Key\":\"%s\",\"Flags\":0,\"Value\":\"%s\",\"ModifyIndex\":5}".formatted(key, text);
  }

  private static String pair(Written one) {
    return pair(key(one), one.data());
  }

  @BeforeEach
  void begin() throws IOException {
    played =
        new PlayedAgent()
            .on(CREATE, 200, "{\"ID\":\"aa-11\"}")
            .on(TXN, 200, "{\"Results\":[],\"Errors\":null}")
            .on(RENEW, 200, "[{\"ID\":\"aa-11\"}]")
            .on(INFO, 200, "[]")
            .on("PUT session/destroy/", 200, "true");
  }

  @AfterEach
  void end() {
    played.close();
  }

  private KeyKeeping keeping(int lease) {
    return new KeyKeeping(
        played.agent(), "r/v1", Duration.ofSeconds(lease), List.of(OWN), clock::get);
  }

  /** How it ends before it has published. */
  private String refused() {
    AtomicInteger published = new AtomicInteger();
    IOException fault =
        assertThrows(IOException.class, () -> keeping(15).keep(published::incrementAndGet));
    assertEquals(0, published.get());
    return String.valueOf(fault.getMessage());
  }

  /** How it ends once it has published, when the agent answers something else. */
  private String lost(String what, int status, String body) {
    return lost(what, new PlayedAgent.Said(status, "7", body));
  }

  private String lost(String what, PlayedAgent.Said said) {
    return lost(what, said, 30);
  }

  private String lost(String what, PlayedAgent.Said said, int lease) {
    KeyKeeping keeping = keeping(lease);
    IOException fault =
        assertThrows(
            IOException.class,
            () -> {
              keeping.put();
              played.on(what, said);
              clock.addAndGet(Duration.ofSeconds(Math.max(lease, 20)).toNanos());
              keeping.renew();
            });
    return String.valueOf(fault.getMessage());
  }

  @Test
  void itHoldsItsKeysByASession() throws Exception {
    String zeros = "r/v1/s/x/0000000000000000";
    String beside = pair("r/v1/s/x/y/0000000000000000", new byte[0]);
    played.on(LOOK, 200, "[" + pair(zeros, new byte[0]) + "," + beside + "," + pair(OWN) + "]");
    CompletableFuture<Void> published = new CompletableFuture<>();
    CompletableFuture<Void> ended = new CompletableFuture<>();
    Thread thread = thread(keeping(31), published, ended);
    published.get(30, TimeUnit.SECONDS);
    thread.interrupt();
    assertNull(ended.get(30, TimeUnit.SECONDS));
    assertEquals("GET kv/r/v1/s/x/?recurse&consistent", played.asked());
    assertEquals(
        "PUT session/create {\"Name\":\"trunkcall\",\"Behavior\":\"delete\",\"LockDelay\":\"1ms\","
            + "\"TTL\":\"16s\",\"NodeChecks\":[],\"Checks\":[]}",
        played.asked());
    assertEquals(
        "PUT txn [{\"KV\":{\"Verb\":\"delete-cas\",\"Key\":\"%s\",\"Index\":5}},".formatted(zeros)
            + "{\"KV\":{\"Verb\":\"delete-cas\",\"Key\":\"%s\",\"Index\":5}},".formatted(key(OWN))
            + "{\"KV\":{\"Verb\":\"lock\",\"Key\":\"%s\",\"Value\":\"%s\",\"Session\":\"aa-11\"}}]"
                .formatted(key(OWN), Base64.getEncoder().encodeToString(OWN.data())),
        played.asked());
    assertEquals("PUT session/destroy/aa-11", played.asked());
  }

  private static Thread thread(
      KeyKeeping keeping, CompletableFuture<Void> published, CompletableFuture<Void> ended) {
    Thread thread =
        new Thread(
            () -> {
              try {
                keeping.keep(() -> published.complete(null));
                ended.complete(null);
              } catch (Throwable fault) {
                ended.completeExceptionally(fault);
                published.completeExceptionally(fault);
              }
            });
    thread.start();
    return thread;
  }

  @Test
  void theTimeOfASessionIsHalfTheLeaseButConsulsLeast() throws IOException {
    for (String one : List.of("1 10", "15 10", "20 10", "21 11", "3600 1800")) {
      Duration lease = Duration.ofSeconds(Integer.parseInt(one.substring(0, one.indexOf(' '))));
      String said = new String(KeyKeeping.wanted(lease), UTF_8);
      String want = "\"TTL\":\"" + one.substring(one.indexOf(' ') + 1) + "s\"";
      assertEquals(want, said.substring(said.indexOf("\"TTL\""), said.indexOf(",\"NodeChecks\"")));
    }
  }

  @Test
  void whoIsStoppedWhileItWritesWithdraws() throws Exception {
    played.on(TXN, PlayedAgent.NEVER);
    CompletableFuture<Void> ended = new CompletableFuture<>();
    Thread thread = thread(keeping(15), new CompletableFuture<>(), ended);
    for (String what = ""; !what.startsWith(TXN); ) {
      what = played.asked();
    }
    thread.interrupt();
    assertEquals("PUT session/destroy/aa-11", played.asked());
    assertNull(ended.get(30, TimeUnit.SECONDS));
  }

  @Test
  void whoIsStoppedWhileItReadsWithdraws() throws Exception {
    played.on(TXN, PlayedAgent.HALF);
    CompletableFuture<Void> ended = new CompletableFuture<>();
    Thread thread = thread(keeping(15), new CompletableFuture<>(), ended);
    for (String what = ""; !what.startsWith(TXN); ) {
      what = played.asked();
    }
    while (Stream.of(thread.getStackTrace())
        .noneMatch(frame -> frame.getClassName().endsWith("TimedBody"))) {
      Thread.sleep(1); // until the test's time is over
    }
    thread.interrupt();
    for (String what = ""; !what.equals("PUT session/destroy/aa-11"); ) {
      what = played.asked();
    }
    assertNull(ended.get(30, TimeUnit.SECONDS));
  }

  @Test
  void halfAnAnswerIsNoticed() {
    String late = "Consul has not answered in full for 3000 ms";
    assertEquals(late, lost(LOOK, PlayedAgent.HALF, 9));
  }

  @Test
  void anAgentThatMakesNoSessionIsAFailure() {
    played.on(CREATE, 403, "Permission denied\n");
    assertEquals("Consul answers 403: Permission denied", refused());
    for (String body :
        List.of("", "[]", "{}", "{\"ID\":7}", "{\"ID\":\"\"}", "{\"ID\":\"a/../b\"}")) {
      played.on(CREATE, 200, body);
      assertEquals(FORM, refused(), body);
    }
    for (String body : List.of("{", "{\"ID\":\"a", "x")) {
      played.on(CREATE, 200, body);
      String said = refused();
      assertEquals("Consul's answer: ", said.substring(0, Math.min(17, said.length())), body);
    }
  }

  @Test
  void whatStandsThereIsReadOrRefused() {
    played.on(LOOK, 200, "[" + pair(OTHER) + "]");
    assertEquals(TAKEN, refused());
    played.on(LOOK, 403, "Permission denied");
    assertEquals("Consul answers 403: Permission denied", refused());
    for (String body :
        List.of(
            "",
            "{}",
            "[1]",
            "[{}]",
            "[{\"Key\":7}]",
            "[{\"Key\":\"a\",\"Value\":7}]",
            "[{\"Key\":\"a\",\"ModifyIndex\":\"5\"}]",
            "[] []")) {
      played.on(LOOK, 200, body);
      assertEquals(FORM, refused(), body);
    }
    for (String body :
        List.of(
            "[",
            "[{\"Key\":\"a\"}",
            "[{\"Key\":\"a\",\"Value\":\"?\"}]",
            "[{\"ModifyIndex\":18446744073709551616}]")) {
      played.on(LOOK, 200, body);
      String said = refused();
      assertEquals("Consul's answer: ", said.substring(0, Math.min(17, said.length())), body);
    }
  }

  @Test
  void whyConsulRefusesToWriteIsTold() {
    played.on(
        TXN, 409, "{\"Results\":[],\"Errors\":[{\"OpIndex\":0,\"What\":\"a\"},{\"What\":\"b\"}]}");
    assertEquals("Consul refuses to write " + key(OWN) + ": a: b", refused());
    played.on(TXN, 409, "{\"Errors\":null}");
    assertEquals("Consul refuses to write " + key(OWN), refused());
    played.on(TXN, 409, "[]");
    assertEquals(FORM, refused());
    played.on(TXN, 413, "Request body too large");
    assertEquals("Consul answers 413: Request body too large", refused());
  }

  /** Consul may have no leader for a while, or the agent be started anew. */
  @Test
  void aSessionOutlivesRenewalsThatFail() throws Exception {
    for (String what : List.of(RENEW, LOOK)) {
      played.on(LOOK, 200, "[" + pair(OWN) + "]");
      KeyKeeping keeping = keeping(36);
      keeping.put();
      for (int i = 0; i < 3; i++) {
        clock.addAndGet(Duration.ofSeconds(36).toNanos() - 1);
        played.on(what, 500, "No cluster leader");
        assertEquals(Duration.ofSeconds(4), keeping.renew());
        played.on(LOOK, 200, "[" + pair(OWN) + "]");
        played.on(RENEW, 404, "").on(INFO, 200, "[{\"ID\":\"aa-11\"}]"); // of its past
        assertEquals(Duration.ofSeconds(4), keeping.renew());
        played.on(RENEW, 200, "[]").on(INFO, 200, "[]");
        assertEquals(Duration.ofSeconds(12), keeping.renew());
      }
      clock.addAndGet(Duration.ofSeconds(36).toNanos());
      played.on(what, 500, "No cluster leader");
      IOException fault = assertThrows(IOException.class, keeping::renew);
      assertEquals("Consul answers 500: No cluster leader", fault.getMessage());
      played.on(RENEW, 200, "[]");
    }
  }

  @Test
  void whatIsLostIsAFailure() {
    played.on(LOOK, 200, "[" + pair(OWN) + "]");
    assertEquals("the session is over", lost(RENEW, 404, "Session id not found"));
    played.on(INFO, 403, "Permission denied");
    assertEquals("Consul answers 403: Permission denied", lost(RENEW, 404, ""));
    played.on(INFO, 200, "{}");
    assertEquals(FORM, lost(RENEW, 404, ""));
    played.on(RENEW, 200, "[]");
    assertEquals("Consul answers 403: Permission denied", lost(RENEW, 403, "Permission denied"));
    played.on(RENEW, 200, "[]");
    assertEquals(LOST, lost(LOOK, 404, ""));
    played.on(LOOK, 200, "[" + pair(OWN) + "]");
    assertEquals(LOST, lost(LOOK, 200, "[" + pair(key(OWN), new byte[] {'?'}) + "]"));
    played.on(LOOK, 200, "[" + pair(OWN) + "]");
    assertEquals(TAKEN, lost(LOOK, 200, "[" + pair(OTHER) + "," + pair(OWN) + "]"));
    played.on(LOOK, 200, "[" + pair(OWN) + "]");
    String front = pair("r/v1/s/x/0000000000000000", new byte[0]);
    assertEquals(LOST, lost(LOOK, 200, "[" + front + "," + pair(OWN) + "]"));
    played.on(LOOK, 200, "[" + pair(OWN) + "]");
    assertEquals("Consul answers 500: no leader", lost(LOOK, 500, "no leader"));
  }
}
