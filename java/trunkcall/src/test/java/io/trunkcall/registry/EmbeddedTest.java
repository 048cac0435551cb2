package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.trunkcall.registry.v1.PublishAnswer;
import com.trunkcall.registry.v1.PublishRequest;
import com.trunkcall.registry.v1.WatchAnswer;
import com.trunkcall.registry.v1.WatchRequest;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The embedded registry, served and used (registry.md 9). */
@Timeout(180)
final class EmbeddedTest {
  @TempDir Path folder;
  private final Instances instances = new Instances();

  @AfterEach
  void close() throws Exception {
    instances.close();
  }

  /** A registry that is served. */
  private static final class Running implements AutoCloseable {
    final RegistryServer registry;
    final Server server;
    final String address;

    Running(String where, RegistryServer.Builder builder) throws IOException {
      this.registry = builder.build();
      this.server = registry.serverBuilder().build();
      this.address = server.listen(where);
    }

    Store store() {
      return Registry.openStore("trunkcall:" + address);
    }

    @Override
    public void close() {
      registry.close();
      server.stop();
    }
  }

  private Running serve(RegistryServer.Builder builder) throws IOException {
    return instances.closing(new Running("127.0.0.1:0", builder));
  }

  private static String record(String id) {
    return "{\"addresses\":[\"127.0.0.1:9\"],\"id\":\""
        + id
        + "\",\"service\":\""
        + Instances.SERVICE
        + "\"}";
  }

  /** A call of Publish, behind its first request. */
  private ClientStream<PublishRequest, PublishAnswer> publish(Running at, List<String> records) {
    Client client = instances.closing(Client.builder(at.address).build());
    ClientStream<PublishRequest, PublishAnswer> call =
        client.stream(Embedded.PUBLISH, null, Embedded.ENDLESS);
    PublishRequest.Builder request = PublishRequest.newBuilder();
    records.forEach(one -> request.addRecords(ByteString.copyFromUtf8(one)));
    call.send(request.build());
    return call;
  }

  private ClientStream<WatchRequest, WatchAnswer> watch(Running at, String service) {
    Client client = instances.closing(Client.builder(at.address).build());
    WatchRequest request = WatchRequest.newBuilder().setService(service).build();
    return client.stream(Embedded.WATCH, request, Embedded.ENDLESS);
  }

  private static void assertEnds(Code code, String text, ClientStream<?, ?> call) {
    StatusException failed =
        assertThrows(
            StatusException.class,
            () -> {
              while (call.receive() != null) {
                // Until it ends.
              }
            });
    assertEquals(code, failed.code());
    assertTrue(failed.status().message().startsWith(text), failed::getMessage);
  }

  @Test
  void thatTheRegistryIsAwayIsToldOnce() throws Exception {
    Store store;
    try (Running away = new Running("127.0.0.1:0", RegistryServer.builder())) {
      store = away.store();
    }
    Client client = instances.find(store);
    try (Logged log = new Logged()) {
      for (int i = 0; i < 2; i++) {
        StatusException failed =
            assertThrows(
                StatusException.class,
                () -> client.call(Instances.WHO, new byte[0], CallOptions.NONE));
        String text = failed.getMessage();
        assertEquals(2, text.split("\\(not sent\\)", -1).length, text);
        assertEquals(2, text.split("UNAVAILABLE", -1).length, text);
      }
      String reason = "resolver registry: watching " + Instances.SERVICE + ": cannot reach ";
      log.await(reason);
      assertEquals(1, log.texts().stream().filter(one -> one.contains("cannot reach")).count());
    }
  }

  @Test
  void serversComeAndGoWhileCallsGoOn() throws Exception {
    Store store = serve(RegistryServer.builder()).store();
    Client client = instances.find(store);
    Server first = instances.publish(store, "first");
    Instances.until(client, "first");
    try (Instances.Calling calling = instances.calling(client)) {
      Server second = instances.publish(store, "second");
      Instances.until(client, "first", "second");
      Instances.stop(first);
      Instances.until(client, "second");
      instances.publish(store, "first");
      Instances.until(client, "first", "second");
      Instances.stop(second);
      Instances.until(client, "first");
    }
  }

  @Test
  void aServerWhoseConnectionEndsIsForgottenAtOnce() throws Exception {
    Running running = serve(RegistryServer.builder().lease(Duration.ofHours(1)));
    Client died = Client.builder(running.address).build();
    ClientStream<PublishRequest, PublishAnswer> call =
        died.stream(Embedded.PUBLISH, null, Embedded.ENDLESS);
    call.send(
        PublishRequest.newBuilder().addRecords(ByteString.copyFromUtf8(record("dead"))).build());
    assertEquals(3_600_000, assertNotNullAnd(call.receive()).getLeaseMs());
    ClientStream<WatchRequest, WatchAnswer> watch = watch(running, Instances.SERVICE);
    assertEquals("dead", assertNotNullAnd(watch.receive()).getCame(0).getId());
    died.close();
    assertEquals(List.of("dead"), assertNotNullAnd(watch.receive()).getWentList());
  }

  private static <T> T assertNotNullAnd(T one) {
    assertNotNull(one);
    return one;
  }

  @Test
  void aServerThatIsStoppedIsForgottenAfterItsLease() throws Exception {
    Running running = serve(RegistryServer.builder().lease(Duration.ofSeconds(1)));
    // Nothing more is sent.
    assertEnds(Code.ABORTED, "not renewed for 1000 ms", publish(running, List.of(record("still"))));
  }

  @Test
  void aLeaseIsRenewed() throws Exception {
    Running running = serve(RegistryServer.builder().lease(Duration.ofSeconds(1)));
    try (Logged log = new Logged()) {
      instances.publish(running.store(), "kept");
      ClientStream<WatchRequest, WatchAnswer> watch = watch(running, Instances.SERVICE);
      assertEquals("kept", assertNotNullAnd(watch.receive()).getCame(0).getId());
      // Two leases later it is there as it was, and told once more, since the registry is sure now.
      WatchAnswer sure = assertNotNullAnd(watch.receive());
      assertEquals(WatchAnswer.Kind.KIND_ALL, sure.getKind());
      assertEquals("kept", sure.getCame(0).getId());
      log.await("published in a registry: test.Names/kept");
    }
  }

  @Test
  void badCallsAreRefused() throws Exception {
    Running running = serve(RegistryServer.builder());
    assertEnds(Code.INVALID_ARGUMENT, "records: want 1 to 128", publish(running, List.of()));
    assertEnds(
        Code.INVALID_ARGUMENT,
        "records[1]: not a JSON object",
        publish(running, List.of(record("a"), "x")));
    ClientStream<PublishRequest, PublishAnswer> twice = publish(running, List.of(record("a")));
    assertNotNull(twice.receive());
    twice.send(
        PublishRequest.newBuilder().addRecords(ByteString.copyFromUtf8(record("b"))).build());
    assertEnds(Code.INVALID_ARGUMENT, "records: want none in a renewal", twice);
    assertEnds(Code.INVALID_ARGUMENT, "service: want a name of", watch(running, "a/b"));
  }

  @Test
  void theSecondServerUnderAnIdIsRefusedUntilTheFirstIsGone() throws Exception {
    Store store = serve(RegistryServer.builder()).store();
    Server first = instances.publish(store, "same");
    Registrar registrar = Registrar.builder(store).id("same").build();
    Server second = instances.server("second", registrar);
    try (Logged log = new Logged()) {
      second.listen("127.0.0.1:0");
      log.await(
          "not published in a registry: "
              + Instances.SERVICE
              + "/same: another server is published under this id, at "
              + first.addresses().get(0));
    }
    Client client = instances.find(store);
    Instances.until(client, "same");
    Instances.stop(first);
    Instances.until(client, "second");
  }

  @Test
  void whatIsLargeIsToldInParts() throws Exception {
    Running running = serve(RegistryServer.builder());
    Set<String> want = new HashSet<>();
    for (int part = 0; part < 24; part++) {
      List<String> records = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        String id = "n" + part + "-" + i;
        want.add(id);
        String more = "\"attributes\":{\"a\":\"" + "x".repeat(500) + "\"},\"id\"";
        records.add(record(id).replace("\"id\"", more));
      }
      assertNotNull(publish(running, records).receive());
    }
    ClientStream<WatchRequest, WatchAnswer> watch = watch(running, Instances.SERVICE);
    boolean more = true;
    while (more) {
      WatchAnswer one = assertNotNullAnd(watch.receive());
      int size = one.getCameList().stream().mapToInt(each -> each.getRecord().size()).sum();
      assertTrue(one.getCameCount() <= 1_000 && size <= 256 << 10);
      assertEquals(WatchAnswer.Kind.KIND_PARTIAL, one.getKind());
      one.getCameList().forEach(each -> want.remove(each.getId()));
      more = one.getMore();
    }
    assertEquals(Set.of(), want);
  }

  @Test
  void aRegistryMayGoAndComeBack() throws Exception {
    Path state = folder.resolve("state");
    Running running = serve(RegistryServer.builder().state(state));
    instances.publish(running.store(), "first");
    instances.publish(running.store(), "second");
    Client client = instances.find(running.store());
    Instances.until(client, "first", "second");
    try (Instances.Calling calling = instances.calling(client)) {
      running.close();
      assertEquals(2, RegistryState.read(state).records().size());
      Instances.until(client, "first", "second");
      for (String spoilt : List.of("", "\0 rubbish", "trunkcall registry 1\n" + record("half"))) {
        Files.writeString(state, spoilt);
        try (Logged log = new Logged();
            Running again = new Running(running.address, RegistryServer.builder().state(state))) {
          log.await(state + ":");
          // They have published again.
          Instances.until(instances.find(again.store()), "first", "second");
        }
        Instances.until(client, "first", "second");
      }
    }
  }

  @Test
  void whatTheFileHasIsKnownAtOnce() throws Exception {
    Path state = folder.resolve("state");
    Server other = instances.server("restored");
    String line = record("x").replace("127.0.0.1:9", other.listen("127.0.0.1:0"));
    Files.writeString(state, "trunkcall registry 1\n" + line + "\nend 1\n");
    Running running = serve(RegistryServer.builder().state(state));
    Instances.until(instances.find(running.store()), "restored");
    WatchAnswer first = assertNotNullAnd(watch(running, Instances.SERVICE).receive());
    assertEquals(WatchAnswer.Kind.KIND_ALL, first.getKind()); // the file was whole
  }

  @Test
  void whatCannotBeIsRefused() {
    for (Path path : List.of(folder, folder.resolve("none").resolve("state"))) {
      IOException fault =
          assertThrows(IOException.class, () -> RegistryServer.builder().state(path).build());
      String text = fault.getMessage();
      assertTrue(text.contains(folder.toString()), text);
      assertEquals(path.equals(folder), !text.endsWith(path + ": its folder is not there"), text);
    }
    IllegalArgumentException lease =
        assertThrows(
            IllegalArgumentException.class,
            () -> RegistryServer.builder().lease(Duration.ofMillis(1)));
    assertTrue(lease.getMessage().contains("want 1 s to 1 h"));
  }

  @Test
  void aRegistryThatIsClosedEndsItsCalls() throws Exception {
    Running running = serve(RegistryServer.builder());
    ClientStream<WatchRequest, WatchAnswer> watch = watch(running, Instances.SERVICE);
    assertNotNull(watch.receive());
    running.registry.close();
    assertEnds(Code.UNAVAILABLE, "the registry is stopping", watch);
    assertEnds(Code.UNAVAILABLE, "the registry is stopping", watch(running, Instances.SERVICE));
    running.registry.close();
  }
}
