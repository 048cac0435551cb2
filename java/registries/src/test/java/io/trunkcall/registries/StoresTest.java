package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import io.trunkcall.registry.Registrar;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Source;
import io.trunkcall.registry.Store;
import io.trunkcall.registry.Written;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What holds for each registry of another project, against its own server (registry.md 3). */
@Timeout(240)
abstract class StoresTest {
  static final String SERVICE = "test.Names";
  private static final Method<byte[], byte[]> WHO =
      Method.unary("/" + SERVICE + "/Who", Codec.raw(), Codec.raw());
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  @TempDir Path folder;
  private final List<AutoCloseable> made = new ArrayList<>();
  private RegistryProcess process;
  private Store store;

  /** The server, which is not started; empty if its program is not there. */
  abstract Optional<RegistryProcess> process() throws Exception;

  @BeforeEach
  void start() throws Exception {
    Optional<RegistryProcess> there = process();
    Assumptions.assumeTrue(there.isPresent(), "there is no such server on this machine");
    process = closing(there.get());
    process.start();
    store = Registry.openStore(process.name());
  }

  @AfterEach
  void close() throws Exception {
    Collections.reverse(made);
    for (AutoCloseable one : made) {
      one.close();
    }
  }

  private <T extends AutoCloseable> T closing(T one) {
    made.add(one);
    return one;
  }

  /** A server that answers its name, and is being published under its id. */
  private Registrar listen(String name, String id) throws Exception {
    return listen(store, name, id);
  }

  private Registrar listen(Store store, String name, String id) throws Exception {
    byte[] answer = name.getBytes(StandardCharsets.UTF_8);
    Registrar registrar = Registrar.builder(store).id(id).zone("zöne").build();
    Server server =
        closing(
            Server.builder()
                .registrar(registrar)
                .serve(Handler.unary(WHO, (request, call) -> answer))
                .build());
    server.listen("127.0.0.1:0");
    servers.add(server);
    return registrar;
  }

  private final List<Server> servers = new ArrayList<>();

  Server publish(String name) throws Exception {
    return publish(store, name);
  }

  Server publish(Store store, String name) throws Exception {
    listen(store, name, name).published().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    return servers.get(servers.size() - 1);
  }

  Client find() {
    return find(store);
  }

  Client find(Source source) {
    return closing(
        Client.builder("registry:" + SERVICE)
            .resolver("registry", Registry.resolver(source))
            .build());
  }

  private static String call(Client client) {
    CallOptions options = CallOptions.NONE.withTimeout(PATIENCE).withWaitForReady(true);
    return new String(client.call(WHO, new byte[0], options), StandardCharsets.UTF_8);
  }

  /** Calls until all of these have answered, and nobody else; no call fails. */
  static void until(Client client, String... names) throws InterruptedException {
    Set<String> answered = new TreeSet<>();
    for (long end = System.nanoTime() + PATIENCE.toNanos(); System.nanoTime() < end; ) {
      answered.clear();
      for (int i = 0; i < 4 * names.length; i++) {
        answered.add(call(client));
      }
      if (answered.equals(Set.of(names))) {
        return;
      }
      Thread.sleep(5); // it is asked again, not relied on
    }
    fail("answered by " + answered);
  }

  private void untilEntries(String... ids) throws Exception {
    Set<String> there = Set.of();
    for (long end = System.nanoTime() + PATIENCE.toNanos(); System.nanoTime() < end; ) {
      there = process.entries(SERVICE).keySet();
      if (there.equals(Set.of(ids))) {
        return;
      }
      Thread.sleep(20);
    }
    fail("there are " + there);
  }

  @Test
  void serversComeAndGo() throws Exception {
    Server first = publish("first");
    Client client = find();
    until(client, "first");
    publish("second");
    until(client, "first", "second");
    process
        .entries(SERVICE)
        .forEach(
            (id, data) -> {
              ServiceRecord record = ServiceRecord.parse(data);
              assertEquals(id, record.id());
              assertEquals("zöne", record.zone());
              assertEquals(
                  new String(record.toBytes(), StandardCharsets.UTF_8),
                  new String(data, StandardCharsets.UTF_8));
            });
    assertTrue(first.stop(PATIENCE));
    untilEntries("second");
    until(client, "second");
    publish("first"); // at another port, under its name
    until(client, "first", "second");
  }

  @Test
  void rubbishIsLeftOutAndWhatIsReplacedByItStays() throws Exception {
    process.put(SERVICE, "half", "{\"addresses\":[".getBytes(StandardCharsets.UTF_8));
    publish("first");
    Client client = find();
    until(client, "first");
    process.put(SERVICE, "first", "?".getBytes(StandardCharsets.UTF_8));
    until(client, "first");
    // The server sees it, and writes its own again.
    for (byte[] data = {}; data.length < 2; data = process.entries(SERVICE).get("first")) {
      Thread.sleep(20); // until the test's time is over
    }
    until(client, "first");
  }

  @Test
  void theSecondServerUnderAnIdWaitsForTheEndOfTheFirst() throws Exception {
    Server first = publish("same");
    Registrar second = listen("second", "same");
    Written other = new Written(ServiceRecord.builder(SERVICE, "same", "127.0.0.1:1").build());
    RegistryException taken =
        assertThrows(RegistryException.class, () -> store.keep(List.of(other), () -> {}));
    assertEquals(
        SERVICE
            + "/same: another server is published under this id, at "
            + first.addresses().get(0),
        taken.getMessage());
    Client client = find();
    until(client, "same");
    assertTrue(first.stop(PATIENCE));
    second.published().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    until(client, "second");
  }

  @Test
  void whatIsRemovedOrExpiresIsPublishedAgain() throws Exception {
    publish("first");
    publish("second");
    Client client = find();
    until(client, "first", "second");
    process.remove(SERVICE, "first");
    untilEntries("first", "second");
    until(client, "first", "second");
    process.expire();
    untilEntries("first", "second");
    until(client, "first", "second");
  }

  @Test
  void callsGoOnWhileTheRegistryIsDown() throws Exception {
    publish("first");
    Client client = find();
    until(client, "first");
    process.stop();
    Registrar late = listen("second", "second");
    until(client, "first");
    Client stranger = find();
    StatusException failed =
        assertThrows(
            StatusException.class,
            () -> stranger.call(WHO, new byte[0], CallOptions.NONE.withTimeout(PATIENCE)));
    assertTrue(failed.status().message().contains("watching " + SERVICE), failed::getMessage);
    process.start();
    late.published().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    until(client, "first", "second");
    until(stranger, "first", "second");
  }

  /** What is no name of this registry, and the text with which it is refused. */
  abstract String wanted();

  @Test
  void badNamesAreRefused() {
    String scheme = process.name().substring(0, process.name().indexOf(':'));
    for (String rest :
        List.of(
            "",
            "a",
            "a:0",
            "a:65536",
            "a:1?",
            "a:1?lease=0",
            "a:1?lease=3601",
            "a:1/",
            "a:1/b//c",
            "a:1/..",
            ":1",
            "a:1,",
            "a b:1",
            "http://a:1")) {
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class, () -> Registry.open(scheme + ":" + rest), rest);
      assertEquals(
          "registry \"" + scheme + ":" + rest + "\": want " + wanted(), refused.getMessage());
    }
  }
}
