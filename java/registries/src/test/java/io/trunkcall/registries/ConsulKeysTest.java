package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Client;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Written;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class ConsulKeysTest extends StoresTest {
  private static final byte[] RUBBISH = {'?'};

  private ConsulKeysProcess server;

  @Override
  Optional<RegistryProcess> process() throws Exception {
    Optional<Path> program = RegistryProcess.program("consul", "consul");
    if (program.isEmpty()) {
      return Optional.empty();
    }
    server = new ConsulKeysProcess(program.get(), folder);
    return Optional.of(server);
  }

  @Override
  String wanted() {
    return "consul:HOST:PORT/ROOT?lease=SECONDS";
  }

  /** Of which Consul takes some in no URL, and leads from others to other keys. */
  @Test
  void keysWithNamesOfOthersHideNobody() throws Exception {
    publish("first");
    List<String> strange =
        List.of("\0", "a//b", "a/../b", "./b", "..", "a", "a/", "?x#y%41 ü", "../0123456789abcdef");
    server.write(strange.stream().map(name -> SERVICE + "/" + name).toList(), RUBBISH);
    Client client = find();
    until(client, "first");
    publish("second");
    until(client, "first", "second");
    List<String> more = strange.stream().map(name -> SERVICE + "/more/" + name).toList();
    server.write(more, RUBBISH);
    publish("third");
    until(client, "first", "second", "third");
  }

  /** It is the first of its id, which is the one that counts. */
  @Test
  void rubbishInFrontOfARecordIsRemoved() throws Exception {
    publish("first");
    server.write(List.of(SERVICE + "/first/0000000000000000"), RUBBISH);
    for (byte[] data = RUBBISH; data.length < 2; data = server.entries(SERVICE).get("first")) {
      Thread.sleep(20); // until the test's time is over
    }
    until(find(), "first");
  }

  /** More than Consul takes at once, and in place of what stands there. */
  @Test
  void manyLongRecordsArePublishedTogether() throws Exception {
    Map<String, String> attributes = new TreeMap<>();
    for (int i = 0; i < 15; i++) {
      attributes.put("a" + i, "x".repeat(1_024));
    }
    List<Written> records = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      String service = "test.Long" + i;
      records.add(
          new Written(
              ServiceRecord.builder(service, "a", "127.0.0.1:1").attributes(attributes).build()));
      server.put(service, "a", RUBBISH);
    }
    assertTrue(records.get(0).data().length > 15_000);
    List<String> rubbish = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      rubbish.add("test.Long0/a/" + "%016x".formatted(i));
    }
    server.write(rubbish, RUBBISH);
    CompletableFuture<Void> published = new CompletableFuture<>();
    CompletableFuture<Void> ended = new CompletableFuture<>();
    Thread keeping =
        new Thread(
            () -> {
              try {
                Registry.openStore(server.name()).keep(records, () -> published.complete(null));
                ended.complete(null);
              } catch (Throwable fault) {
                published.completeExceptionally(fault);
                ended.completeExceptionally(fault);
              }
            });
    keeping.start();
    published.get(60, TimeUnit.SECONDS);
    for (Written one : records) {
      Map<String, byte[]> there = server.entries(one.record().service());
      assertEquals(List.of("a"), List.copyOf(there.keySet()));
      assertEquals(
          new String(one.data(), StandardCharsets.UTF_8),
          new String(there.get("a"), StandardCharsets.UTF_8));
    }
    keeping.interrupt();
    ended.get(60, TimeUnit.SECONDS);
    for (Written one : records) {
      assertEquals(Map.of(), server.entries(one.record().service()));
    }
  }
}
