package io.trunkcall.examples.discovery;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Server;
import io.trunkcall.registry.RegistryServer;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiscoveryTest {
  @TempDir Path folder;

  private final PrintStream stdout = System.out;
  private final BlockingQueue<String> printed = new LinkedBlockingQueue<>();

  @BeforeEach
  void capture() {
    System.setOut(
        new PrintStream(stdout) {
          @Override
          public void println(String line) {
            printed.add(line);
          }
        });
  }

  @AfterEach
  void restore() {
    System.setOut(stdout);
  }

  /** What runs until it is stopped. */
  private record Running(CountDownLatch stopping, FutureTask<Boolean> task) {
    static Running start(CountDownLatch stopping, Callable<Boolean> what) {
      FutureTask<Boolean> task = new FutureTask<>(what);
      new Thread(task).start();
      return new Running(stopping, task);
    }

    static Running server(String registry, String name) {
      CountDownLatch stopping = new CountDownLatch(1);
      return start(
          stopping,
          () -> {
            Discovery.serve(registry, name, "127.0.0.1:0", stopping);
            return true;
          });
    }

    static Running client(String registry) {
      CountDownLatch stopping = new CountDownLatch(1);
      return start(stopping, () -> Discovery.call(registry, stopping));
    }

    void stop() throws Exception {
      stopping.countDown();
      assertTrue(task.get());
    }
  }

  private void expect(String... beginnings) throws InterruptedException {
    for (String beginning : beginnings) {
      String line = String.valueOf(printed.poll(60, TimeUnit.SECONDS));
      assertTrue(line.startsWith(beginning), line + " and not " + beginning);
    }
  }

  private void serversComeAndGo(String registry) throws Exception {
    Running first = Running.server(registry, "first");
    expect("first serves 127.0.0.1:");
    Running client = Running.client(registry);
    expect("found first");
    Running second = Running.server(registry, "second");
    expect("second serves 127.0.0.1:", "found second");
    first.stop();
    expect("first answered ");
    client.stop();
    expect("first answered ", "second answered ", "0 calls failed");
    second.stop();
    expect("second answered ");
  }

  @Test
  void serversInAFolderComeAndGoAndNoCallFails() throws Exception {
    serversComeAndGo("file:" + folder);
  }

  @Test
  void serversInTheEmbeddedRegistryComeAndGoAndNoCallFails() throws Exception {
    try (RegistryServer registry = RegistryServer.builder().build();
        Server server = registry.serverBuilder().build()) {
      serversComeAndGo("trunkcall:" + server.listen("127.0.0.1:0"));
    }
  }

  @Test
  void aClientThatHasFoundNobodyStopsWhenItIsTold() throws Exception {
    Running.client("file:" + folder).stop(); // before its call fails, which would be thrown
    expect("0 calls failed");
  }

  @Test
  void aSchemeThatNobodyHasIsNamed() {
    CountDownLatch stopping = new CountDownLatch(1);
    IllegalArgumentException thrown =
        assertThrows(IllegalArgumentException.class, () -> Discovery.call("nowhere:x", stopping));
    assertTrue(thrown.getMessage().contains("nowhere"), thrown.getMessage());
  }
}
