package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** Servers that are published, and clients that find them. Closes all that it has made. */
final class Instances implements AutoCloseable {
  static final String SERVICE = "test.Names";
  static final Method<byte[], byte[]> WHO =
      Method.unary("/" + SERVICE + "/Who", Codec.raw(), Codec.raw());

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final CallOptions PATIENT =
      CallOptions.NONE.withTimeout(PATIENCE).withWaitForReady(true);

  private final List<AutoCloseable> made = Collections.synchronizedList(new ArrayList<>());

  <T extends AutoCloseable> T closing(T one) {
    made.add(one);
    return one;
  }

  /** A server that answers its name, and does not listen yet. */
  Server server(String name, io.trunkcall.Registrar... registrars) {
    byte[] answer = name.getBytes(StandardCharsets.UTF_8);
    var builder = Server.builder().serve(Handler.unary(WHO, (request, call) -> answer));
    for (io.trunkcall.Registrar one : registrars) {
      builder.registrar(one);
    }
    return closing(builder.build());
  }

  /** A server that is published under its name. */
  Server publish(Store store, String name) throws Exception {
    Registrar registrar = Registrar.builder(store).id(name).build();
    Server server = server(name, registrar);
    server.listen("127.0.0.1:0");
    awaitPublished(registrar);
    return server;
  }

  static void awaitPublished(Registrar registrar) throws Exception {
    registrar.published().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  Client find(Source source) {
    return find(source, "registry:" + SERVICE);
  }

  Client find(Source source, String target) {
    return closing(Client.builder(target).resolver("registry", Registry.resolver(source)).build());
  }

  static String call(Client client) {
    return new String(client.call(WHO, new byte[0], PATIENT), StandardCharsets.UTF_8);
  }

  static StatusException failure(Client client) {
    try {
      client.call(WHO, new byte[0], CallOptions.NONE.withTimeout(PATIENCE));
    } catch (StatusException failed) {
      return failed;
    }
    return fail("it was answered");
  }

  /** Calls until all of these have answered, and nobody else. */
  static void until(Client client, String... names) throws InterruptedException {
    Set<String> want = Set.of(names);
    Map<String, Integer> answered = new HashMap<>();
    for (long end = System.nanoTime() + PATIENCE.toNanos(); System.nanoTime() < end; ) {
      answered.clear();
      for (int i = 0; i < 4 * names.length; i++) {
        answered.merge(call(client), 1, Integer::sum);
      }
      if (answered.keySet().equals(want)) {
        return;
      }
      Thread.sleep(5); // it is asked again, not relied on
    }
    fail("answered by " + answered.keySet() + ", want " + want);
  }

  /** Makes calls all the time until it is closed, which fails if one of them did. */
  final class Calling implements AutoCloseable {
    private final List<Thread> threads = new ArrayList<>();
    private final ConcurrentLinkedQueue<Throwable> failed = new ConcurrentLinkedQueue<>();
    private volatile boolean over;

    Calling(Client client) {
      for (int i = 0; i < 3; i++) {
        Thread thread = new Thread(() -> run(client));
        threads.add(thread);
        thread.start();
      }
    }

    private void run(Client client) {
      while (!over) {
        try {
          call(client);
          Thread.sleep(1);
        } catch (Throwable fault) {
          failed.add(fault);
        }
      }
    }

    @Override
    public void close() throws InterruptedException {
      over = true;
      for (Thread one : threads) {
        one.join();
      }
      assertEquals(List.of(), List.copyOf(failed));
    }
  }

  Calling calling(Client client) {
    return new Calling(client);
  }

  static void stop(Server server) {
    assertTrue(server.stop(PATIENCE));
  }

  @Override
  public void close() throws Exception {
    Collections.reverse(made);
    for (AutoCloseable one : List.copyOf(made)) {
      one.close();
    }
  }
}
