package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.EndpointGauges;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers are published in a folder, and found there by clients (registry.md 5 to 7). */
@Timeout(180)
final class RegistryTest {
  @TempDir Path folder;
  private final Instances instances = new Instances();

  @AfterEach
  void close() throws Exception {
    instances.close();
  }

  private List<String> files() throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile).map(one -> one.getFileName().toString()).toList();
    }
  }

  @Test
  void serversComeAndGoWhileCallsGoOn() throws Exception {
    Store store = Registry.openStore("file:" + folder);
    Client client = instances.find(store);
    Server first = instances.publish(store, "first");
    Instances.until(client, "first");
    try (Instances.Calling calling = instances.calling(client)) {
      Server second = instances.publish(store, "second");
      Instances.until(client, "first", "second");
      Instances.stop(first);
      Instances.until(client, "second");
      first = instances.publish(store, "first"); // at another port, under its name
      Instances.until(client, "first", "second");
      Instances.stop(second);
      Instances.until(client, "first");
    }
    Instances.stop(first);
    assertEquals(List.of(), files());
  }

  @Test
  void aSourceThatEndsOtherwiseWhenItIsInterruptedIsNotAskedAgain() throws Exception {
    for (boolean returns : new boolean[] {true, false}) {
      CompletableFuture<Thread> watching = new CompletableFuture<>();
      Client client =
          instances.find(
              (service, watcher) -> {
                watching.complete(Thread.currentThread());
                try {
                  new CountDownLatch(1).await();
                } catch (InterruptedException end) {
                  if (!returns) {
                    throw new IOException("its cleaning up");
                  }
                }
              });
      CompletableFuture<byte[]> call = client.callAsync(Instances.WHO, new byte[0]);
      Thread thread = watching.get();
      client.close();
      thread.join(60_000);
      assertFalse(thread.isAlive());
      assertTrue(call.isCompletedExceptionally());
    }
  }

  private static Entry entry(String id, int weight) {
    ServiceRecord record =
        ServiceRecord.builder(Instances.SERVICE, id, "127.0.0.1:1").weight(weight).build();
    return Entry.of(id, record.toBytes());
  }

  @Test
  void whatASourceToldThatThrowsAnErrorIsStillKnown() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    Client client =
        instances.find(
            (service, watcher) -> {
              if (asked.incrementAndGet() == 1) {
                watcher.all(List.of(entry("a", 1), entry("b", 1), entry("c", 1)));
                throw new NoClassDefFoundError("of its own");
              }
              watcher.all(List.of(entry("a", 7)));
              new CountDownLatch(1).await();
            });
    CompletableFuture<byte[]> call =
        client.callAsync(Instances.WHO, new byte[0], CallOptions.NONE.withWaitForReady(true));
    while (true) {
      List<EndpointGauges> all = client.endpoints().get();
      if (!all.isEmpty() && all.get(0).endpoint().weight() == 7) {
        assertEquals(3, all.size()); // not one, of a registry that tells less than it did
        break;
      }
      Thread.sleep(1); // it is asked again, not relied on
    }
    call.cancel(true);
  }

  @Test
  void whatARegistryTellsThatFailedOrLostInstancesIsLogged() throws Exception {
    CountDownLatch told = new CountDownLatch(1);
    try (Logged log = new Logged()) {
      instances
          .find(
              (service, watcher) -> {
                watcher.all(List.of(entry("a", 1), entry("b", 1), entry("c", 1)));
                watcher.fail("x");
                watcher.all(List.of(entry("c", 1)));
                told.countDown();
                new CountDownLatch(1).await();
              })
          .connect();
      told.await();
      List<String> texts = log.texts();
      assertTrue(texts.contains("a registry answers again: test.Names"), texts::toString);
      String kept = "instances of test.Names that a registry has no more are kept: 2";
      assertTrue(texts.contains(kept), texts::toString);
    }
  }

  @Test
  void aRegistryThatIsEmptiedOrSpoiltChangesNothing() throws Exception {
    Store store = new Folder(folder);
    instances.publish(store, "first");
    instances.publish(store, "second");
    Client client = instances.find(store);
    Instances.until(client, "first", "second");
    CountDownLatch looked = new CountDownLatch(2);
    Client other =
        instances.find(
            (service, watcher) -> {
              looked.countDown(); // it has failed once when it is called again
              store.watch(service, watcher);
            });
    Instances.until(other, "first", "second");
    try (Instances.Calling calling = instances.calling(client)) {
      for (String name : List.of("first", "second")) {
        Path byHand = folder.resolve(Instances.SERVICE).resolve(name + ".json");
        Files.writeString(byHand, "{\"addresses\":[\"127.0.");
      }
      Instances.until(client, "first", "second");
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path one : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(one);
        }
      }
      looked.await();
      Instances.until(client, "first", "second");
      Instances.until(other, "first", "second");
    }
    Files.createDirectories(folder); // which JUnit removes
  }

  @Test
  void whyNobodyIsFoundIsSaid() {
    StatusException empty = Instances.failure(instances.find(new Folder(folder)));
    assertEquals(Code.UNAVAILABLE, empty.code());
    String text = empty.status().message();
    assertTrue(text.contains("resolver registry: no instance of test.Names is registered"), text);
    Folder none = new Folder(folder.resolve("none"));
    String away = Instances.failure(instances.find(none)).status().message();
    assertTrue(away.contains("watching test.Names: NoSuchFileException: " + folder), away);
  }

  @Test
  void aTargetThatIsNoNameIsRefused() {
    Client client = instances.find(new Folder(folder), "registry:../x");
    String text = Instances.failure(client).status().message();
    assertTrue(text.contains("resolver registry: service: want a name of 1 to 200 letters"), text);
  }

  @Test
  void whatCannotBePublishedFailsToListen() throws Exception {
    for (String everywhere : List.of("0.0.0.0:0", "[::]:0", ":0")) {
      Server server = instances.server("x", Registrar.of(new Folder(folder)));
      IllegalArgumentException fault =
          assertThrows(IllegalArgumentException.class, () -> server.listen(everywhere));
      assertTrue(fault.getMessage().contains("say by which one it is reached"), fault::getMessage);
      assertEquals(List.of(), server.addresses());
      server.listen("127.0.0.1:0");
    }
  }

  @Test
  void aServerServesWhileItsRegistryIsAway() throws Exception {
    Path later = folder.resolve("later");
    Registrar registrar = Registrar.of(new Folder(later));
    Server server = instances.server("x", registrar);
    Client client = instances.closing(Client.builder(server.listen("127.0.0.1:0")).build());
    Instances.until(client, "x");
    assertFalse(registrar.published().isDone());
    Files.createDirectory(later);
    Instances.awaitPublished(registrar);
  }

  @Test
  void allAddressesAndServicesArePublishedThatThereAre() throws Exception {
    Registrar registrar = Registrar.of(new Folder(folder));
    Server server = instances.server("x", registrar);
    String first = server.listen("127.0.0.1:0");
    Instances.awaitPublished(registrar);
    String second = server.listen("127.0.0.1:0");
    awaitRecord(Instances.SERVICE, List.of(first, second));
    Method<byte[], byte[]> more = Method.unary("/test.More/Say", Codec.raw(), Codec.raw());
    server.register(Handler.unary(more, (request, call) -> request));
    awaitRecord("test.More", List.of(first, second));
    awaitRecord(Instances.SERVICE, List.of(first, second));
  }

  private void awaitRecord(String service, List<String> addresses) throws Exception {
    Path file = folder.resolve(service).resolve(Names.idOf(addresses.get(0)) + ".lease");
    while (true) { // until the test's time is over
      if (Files.exists(file)) {
        byte[] data = Files.readAllBytes(file);
        if (ServiceRecord.parse(data).addresses().equals(addresses)) {
          return;
        }
      }
      Thread.sleep(5);
    }
  }

  @Test
  void aServiceThatCannotBePublishedLeavesWhatIs() throws Exception {
    Registrar registrar = Registrar.of(new Folder(folder));
    Server server = instances.server("x", registrar);
    server.listen("127.0.0.1:0");
    Instances.awaitPublished(registrar);
    List<String> before = files();
    Method<byte[], byte[]> odd = Method.unary("/a b/Say", Codec.raw(), Codec.raw());
    server.register(Handler.unary(odd, (request, call) -> request));
    assertEquals(before, files());
  }

  @Test
  void whatStaysAsItIsStaysPublished() throws Exception {
    BlockingQueue<String> said = new LinkedBlockingQueue<>();
    Store store =
        new Store() {
          @Override
          public void watch(String service, Watcher watcher) {}

          @Override
          public void keep(List<Written> records, Runnable published) throws InterruptedException {
            said.add("keeps " + records.stream().map(one -> one.record().service()).toList());
            published.run();
            try {
              new CountDownLatch(1).await();
            } catch (InterruptedException end) {
              said.add("withdraws " + records.size());
            }
          }
        };
    Server server = instances.server("x", Registrar.of(store));
    server.listen("127.0.0.1:0");
    assertEquals("keeps [" + Instances.SERVICE + "]", said.take());
    Method<byte[], byte[]> more = Method.unary("/test.More/Say", Codec.raw(), Codec.raw());
    server.register(Handler.unary(more, (request, call) -> request));
    assertEquals("keeps [test.More]", said.take());
    Instances.stop(server);
    assertEquals(List.of("withdraws 1", "withdraws 1"), List.of(said.take(), said.take()));
    assertTrue(said.isEmpty());
  }

  private static void awaitBegun(CountDownLatch begun) {
    try {
      begun.await();
    } catch (InterruptedException end) {
      throw new AssertionError(end);
    }
  }

  @Test
  void whatIsPublishedBesideARegistrarAtFaultIsTakenBack() throws Exception {
    BlockingQueue<String> said = new LinkedBlockingQueue<>();
    CountDownLatch begun = new CountDownLatch(1);
    Store store =
        new Store() {
          @Override
          public void watch(String service, Watcher watcher) {}

          @Override
          public void keep(List<Written> records, Runnable published) throws InterruptedException {
            List<String> addresses = records.get(0).record().addresses();
            said.add("keeps " + addresses);
            begun.countDown();
            try {
              new CountDownLatch(1).await();
            } finally {
              said.add("withdraws " + addresses);
            }
          }
        };
    AtomicInteger left = new AtomicInteger(); // times that it takes the server
    io.trunkcall.Registrar faulty =
        new io.trunkcall.Registrar() {
          @Override
          public void publish(Server server) {
            if (left.getAndDecrement() <= 0) {
              awaitBegun(begun);
              throw new IllegalArgumentException("on purpose");
            }
          }

          @Override
          public CompletionStage<?> withdraw() {
            return CompletableFuture.completedFuture(null);
          }
        };
    Server server = instances.server("x", Registrar.of(store), faulty);
    assertThrows(IllegalArgumentException.class, () -> server.listen("127.0.0.1:0"));
    String kept = said.take();
    assertEquals(kept.replace("keeps", "withdraws"), said.take());
    left.set(1);
    String stays = "[" + server.listen("127.0.0.1:0") + "]";
    assertEquals("keeps " + stays, said.take());
    assertThrows(IllegalArgumentException.class, () -> server.listen("127.0.0.1:0"));
    assertEquals("withdraws " + stays, said.take());
    for (String one = said.take(); !one.equals("keeps " + stays); one = said.take()) {
      assertTrue(one.contains(", "), one); // with the second address
    }
    Instances.stop(server);
    assertEquals("withdraws " + stays, said.take());
  }

  @Test
  void whatWithdrawsIsNotCutShort() throws Exception {
    BlockingQueue<String> said = new LinkedBlockingQueue<>();
    CountDownLatch ends = new CountDownLatch(1);
    Store store =
        new Store() {
          @Override
          public void watch(String service, Watcher watcher) {}

          @Override
          public void keep(List<Written> records, Runnable published) {
            said.add("keeps");
            published.run();
            try {
              new CountDownLatch(1).await();
            } catch (InterruptedException end) {
              said.add("withdraws");
            }
            try {
              ends.await();
              said.add("has withdrawn");
            } catch (InterruptedException again) {
              said.add("is cut short");
            }
          }
        };
    Server server = instances.server("x", Registrar.of(store));
    server.listen("127.0.0.1:0");
    assertEquals("keeps", said.take());
    server.listen("127.0.0.1:0");
    assertEquals("withdraws", said.take());
    server.listen("127.0.0.1:0");
    ends.countDown();
    assertEquals("has withdrawn", said.take());
    assertEquals("keeps", said.take());
    Instances.stop(server);
  }

  /** A registrar whose withdrawing ends when the test says so. */
  private static final class Slow implements io.trunkcall.Registrar {
    final CountDownLatch asked = new CountDownLatch(1);
    final CompletableFuture<Void> withdrawn = new CompletableFuture<>();

    @Override
    public void publish(Server server) {}

    @Override
    public CompletionStage<?> withdraw() {
      asked.countDown();
      return withdrawn;
    }
  }

  @Test
  void aServerIsWithdrawnBeforeItDrains() throws Exception {
    Slow slow = new Slow();
    Server server = instances.server("x", slow);
    String address = server.listen("127.0.0.1:0");
    CompletableFuture<Void> stopped = CompletableFuture.runAsync(() -> Instances.stop(server));
    slow.asked.await();
    Client late = instances.closing(Client.builder(address).build());
    assertEquals("x", Instances.call(late));
    assertFalse(server.stopping().isDone());
    slow.withdrawn.complete(null);
    stopped.get();
  }

  @Test
  void aServerStopsThoughItIsNotWithdrawn() throws Exception {
    Slow slow = new Slow();
    Server server = instances.server("x", slow);
    server.listen("127.0.0.1:0");
    CompletableFuture<Void> stopped = CompletableFuture.runAsync(() -> Instances.stop(server));
    slow.asked.await();
    server.close(); // which does not wait for the five seconds
    stopped.get();
    assertFalse(slow.withdrawn.isDone());
  }

  @Test
  void aRegistrarPublishesOneServer() throws Exception {
    Registrar registrar = Registrar.of(new Folder(folder));
    Server server = instances.server("x", registrar);
    server.listen("127.0.0.1:0");
    Server second = instances.server("z", registrar);
    String text =
        assertThrows(IllegalStateException.class, () -> second.listen("127.0.0.1:0")).getMessage();
    assertEquals("a registrar publishes one server, and it has another", text);
    Instances.stop(server);
    Server other = instances.server("y", registrar);
    assertThrows(IllegalStateException.class, () -> other.listen("127.0.0.1:0"));
  }

  @Test
  void aSchemeOfOnesOwnIsOpened() {
    Source own = (service, watcher) -> {};
    Registry.addScheme("own-test", rest -> own);
    assertEquals(own, Registry.open("own-test:x"));
    String text =
        assertThrows(IllegalArgumentException.class, () -> Registry.openStore("own-test:x"))
            .getMessage();
    assertEquals("registry \"own-test:x\": servers are found there, but not published", text);
    assertThrows(IllegalArgumentException.class, () -> Registry.addScheme("Own", rest -> own));
  }
}
