package io.trunkcall.examples.discovery;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Resolver;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import io.trunkcall.registry.Registrar;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;
import io.trunkcall.registry.Store;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A server that is published in a registry, and a client that finds all servers there: they come
 * and go, in whatever language they are, and no call fails. {@code make discovery} has three of
 * each (examples/discovery).
 *
 * <pre>
 * discovery serve REGISTRY NAME [ADDRESS]   answers with its name, until SIGTERM
 * discovery call REGISTRY                   calls until SIGTERM, then tells who answered
 * </pre>
 */
public final class Discovery {
  private static final String SERVICE = "trunkcall.example.v1.UserService";

  private static final Method<GetUserRequest, GetUserResponse> GET_USER =
      Method.unary(
          "/" + SERVICE + "/GetUser",
          Codec.protobuf(GetUserRequest.getDefaultInstance()),
          Codec.protobuf(GetUserResponse.getDefaultInstance()));

  private static final GetUserRequest REQUEST = GetUserRequest.newBuilder().setUserId(7).build();

  /** How many calls each server has answered, by its name; guarded by itself. */
  private final Map<String, Long> answers = new TreeMap<>();

  private final AtomicLong failed = new AtomicLong();

  private Discovery() {}

  /** Publishes a server that answers with its name, and stops it once that is wanted. */
  static void serve(String in, String name, String address, CountDownLatch stopping)
      throws IOException, InterruptedException {
    AtomicLong answered = new AtomicLong();
    GetUserResponse answer = GetUserResponse.newBuilder().setName(name).build();
    Store store = Registry.openStore(in);
    Registrar registrar = Registrar.builder(store).zone("here").version("1.4.2").build();
    Server server =
        Server.builder()
            .registrar(registrar)
            .drainDelay(Duration.ofSeconds(1)) // until clients have heard that it is withdrawn
            .serve(
                Handler.unary(
                    GET_USER,
                    (request, call) -> {
                      Thread.sleep(20); // what a database would take
                      answered.incrementAndGet();
                      return answer;
                    }))
            .build();
    String where = server.listen(address);
    registrar.published().thenRun(() -> System.out.println(name + " serves " + where));
    stopping.await();
    server.stop(); // it is withdrawn, then drained
    System.out.println(name + " answered " + answered + " calls");
  }

  /** Calls until it is to stop, four calls at a time, and tells who answered. */
  static boolean call(String in, CountDownLatch stopping) throws InterruptedException {
    Discovery noted = new Discovery();
    Source source = Registry.open(in);
    Resolver resolver = Registry.resolver(source);
    try (Client client =
        Client.builder("registry:" + SERVICE)
            .resolver("registry", resolver)
            .timeout(Duration.ofSeconds(10))
            .build()) {
      // The first call waits for a server to be found. The others need not.
      CompletableFuture<GetUserResponse> first =
          client.callAsync(GET_USER, REQUEST, CallOptions.NONE.withWaitForReady(true));
      Thread canceller = new Thread(() -> cancel(first, stopping));
      canceller.setDaemon(true);
      canceller.start();
      try {
        noted.note(first.get());
      } catch (CancellationException stopped) {
        // Nobody was found until it was to stop.
      } catch (ExecutionException failed) {
        throw failed.getCause() instanceof StatusException status
            ? status
            : new IllegalStateException(failed);
      }
      List<Thread> callers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        Thread caller = new Thread(() -> noted.callOn(client, stopping));
        caller.start();
        callers.add(caller);
      }
      for (Thread caller : callers) {
        caller.join();
      }
    }
    noted.answers.forEach(
        (name, calls) -> System.out.println(name + " answered " + calls + " calls"));
    System.out.println(noted.failed + " calls failed");
    return noted.failed.get() == 0;
  }

  /** Cancels a call once it is to stop, which is too late for one that has ended. */
  private static void cancel(CompletableFuture<?> call, CountDownLatch stopping) {
    try {
      stopping.await();
      call.cancel(true);
    } catch (InterruptedException nobody) {
      Thread.currentThread().interrupt();
    }
  }

  private void callOn(Client client, CountDownLatch stopping) {
    boolean stopped = false;
    while (!stopped && stopping.getCount() > 0) {
      try {
        note(client.call(GET_USER, REQUEST));
      } catch (StatusException e) {
        failed.incrementAndGet();
        System.err.println("failed: " + e.getMessage());
        stopped = pause(stopping);
      }
    }
  }

  /** Whoever calls again at once keeps busy what is in trouble. Returns whether it is to stop. */
  private static boolean pause(CountDownLatch stopping) {
    try {
      return stopping.await(100, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      return true;
    }
  }

  private void note(GetUserResponse user) {
    synchronized (answers) {
      if (answers.merge(user.getName(), 1L, Long::sum) == 1) {
        System.out.println("found " + user.getName());
      }
    }
  }

  /** Does what the words say; returns the exit status. */
  private static int run(List<String> words, CountDownLatch stopping) {
    try {
      if (words.size() == 2 && words.get(0).equals("call")) {
        return call(words.get(1), stopping) ? 0 : 1;
      }
      if (words.size() >= 3 && words.size() <= 4 && words.get(0).equals("serve")) {
        String address = words.size() == 4 ? words.get(3) : "127.0.0.1:0";
        serve(words.get(1), words.get(2), address, stopping);
        return 0;
      }
      System.err.println(
          "usage: discovery serve REGISTRY NAME [ADDRESS] | call REGISTRY,"
              + " such as file:/run/trunkcall");
    } catch (IOException | IllegalArgumentException | StatusException | InterruptedException e) {
      System.err.println(e.getMessage());
    }
    return 1;
  }

  public static void main(String[] args) {
    CountDownLatch stopping = new CountDownLatch(1);
    CompletableFuture<Integer> status = new CompletableFuture<>();
    // At SIGTERM, or Ctrl-C, and at the end.
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  stopping.countDown();
                  Runtime.getRuntime().halt(status.join());
                }));
    status.complete(run(List.of(args), stopping));
    System.exit(0);
  }
}
