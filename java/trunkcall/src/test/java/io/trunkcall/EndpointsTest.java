package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients of several servers, over sockets (client.md 6 to 11). */
@Timeout(120)
final class EndpointsTest {
  private static final CallOptions PATIENT =
      CallOptions.NONE.withTimeout(Pair.PATIENCE).withWaitForReady(true);

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable one : open) {
      one.close();
    }
  }

  /** A server that answers its name. */
  private Server named(String name) throws IOException {
    Server server =
        Server.builder()
            .listen("127.0.0.1:0")
            .serve(Handler.unary(Texts.SAY, (request, call) -> name))
            .build()
            .start();
    open.add(server);
    return server;
  }

  private static String address(Server server) {
    return "127.0.0.1:" + server.port();
  }

  private Client client(ClientBuilder builder) {
    Client client = builder.build();
    open.add(client);
    return client;
  }

  private static String say(Client client, Metadata metadata) {
    return Pair.await(client.unary(Texts.SAY, "who", PATIENT.withMetadata(metadata))).message();
  }

  private static Map<String, Long> answers(Client client, int calls) {
    return IntStream.range(0, calls)
        .mapToObj(i -> say(client, Metadata.EMPTY))
        .collect(Collectors.groupingBy(one -> one, Collectors.counting()));
  }

  /** A resolver that tells what the test has it tell. */
  private static final class Registry implements Resolver {
    private final CountDownLatch asked = new CountDownLatch(1);
    private volatile Watch watch;
    private volatile List<Endpoint> endpoints = List.of();

    @Override
    public void resolve(Watch given) {
      watch = given;
      if (!endpoints.isEmpty()) {
        given.set(endpoints);
      }
      asked.countDown();
    }

    void set(Server... servers) throws InterruptedException {
      endpoints = Stream.of(servers).map(one -> Endpoint.of(address(one))).toList();
      if (watch != null) {
        asked.await();
        watch.set(endpoints);
      }
    }
  }

  @Test
  void endpointsTakeTurns() throws IOException {
    Client client = client(Client.builder(address(named("a")) + "," + address(named("b"))));
    Pair.await(client.connect());
    assertEquals(Map.of("a", 10L, "b", 10L), answers(client, 20));
  }

  @Test
  void callsFollowWhatTheResolverTells() throws IOException, InterruptedException {
    Registry registry = new Registry();
    Server a = named("a");
    Server b = named("b");
    registry.set(a);
    Client client = client(Client.builder("test:here").resolver("test", registry));
    assertEquals("a", say(client, Metadata.EMPTY));
    registry.set(b);
    Pair.until(() -> say(client, Metadata.EMPTY).equals("b"), "b is not called");
    Pair.until(() -> a.connections().isEmpty(), "the connection to a stays");
    assertEquals(Map.of("b", 5L), answers(client, 5));
  }

  @Test
  void aKeyStaysWithItsEndpoint() throws IOException {
    String target =
        Stream.of("a", "b", "c")
            .map(
                name -> {
                  try {
                    return address(named(name));
                  } catch (IOException fault) {
                    throw new AssertionError(fault);
                  }
                })
            .collect(Collectors.joining(","));
    Client client = client(Client.builder(target).balancer(Balancer.hash("user")));
    Set<String> all = new HashSet<>();
    for (int user = 0; user < 40; user++) {
      Metadata metadata = Metadata.of("user", "u" + user);
      String first = say(client, metadata);
      assertEquals(first, say(client, metadata));
      all.add(first);
    }
    assertEquals(Set.of("a", "b", "c"), all);
  }

  @Test
  void callsGoElsewhereWhenAServerStops() throws IOException {
    Server a = named("a");
    Client client = client(Client.builder(address(a) + "," + address(named("b"))));
    Pair.await(client.connect());
    a.close();
    // Until the client has noticed a call may be lost with the connection.
    Pair.until(
        () -> Pair.await(client.endpoints()).get(0).state() != State.READY, "a is still ready");
    assertEquals(Map.of("b", 4L), answers(client, 4));
    List<EndpointGauges> gauges = Pair.await(client.endpoints());
    assertEquals(State.READY, gauges.get(1).state());
    Pair.until(
        () -> Pair.await(client.endpoints()).get(0).state() == State.FAILING, "a is not failing");
  }

  @Test
  void whyNoEndpointCanBeReachedIsTold() throws IOException {
    Server gone = named("gone");
    String address = address(gone);
    gone.close();
    Client client = client(Client.builder(address));
    StatusException failure = Pair.failure(() -> client.call(Texts.SAY, "who"));
    assertEquals(Code.UNAVAILABLE, failure.code());
    assertEquals(Delivery.NOT_SENT, failure.status().delivery());
    assertTrue(
        failure.status().message().startsWith("cannot reach " + address + ": "),
        failure.status().message());
  }

  @Test
  void whyTheResolverFailedIsTold() {
    Resolver away =
        watch -> {
          throw new IOException("the registry is away");
        };
    Client client = client(Client.builder("test:here").resolver("test", away));
    StatusException failure = Pair.failure(() -> client.call(Texts.SAY, "who"));
    assertEquals("resolver test: IOException: the registry is away", failure.status().message());
    assertEquals(Delivery.NOT_SENT, failure.status().delivery());
  }

  @Test
  void aCallThatWaitsOutlastsAResolverThatFails() throws IOException {
    Server a = named("a");
    AtomicInteger asked = new AtomicInteger();
    Resolver late =
        watch -> {
          if (asked.incrementAndGet() < 3) {
            throw new IOException("the registry is away");
          }
          watch.set(List.of(Endpoint.of(address(a))));
        };
    Client client = client(Client.builder("test:here").resolver("test", late));
    assertEquals("a", say(client, Metadata.EMPTY));
  }

  @Test
  void namesMayBeLookedUpOtherwise() throws IOException {
    Server a = named("a");
    List<String> asked = Collections.synchronizedList(new ArrayList<>());
    Resolver dns =
        Resolver.dns(
            host -> {
              asked.add(host);
              return List.of(InetAddress.getLoopbackAddress());
            });
    Client client = client(Client.builder("dns:web.test:" + a.port()).resolver("dns", dns));
    assertEquals("a", say(client, Metadata.EMPTY));
    assertEquals(List.of("web.test"), asked);
    assertThrows(
        IllegalArgumentException.class,
        () -> Client.builder("dns:web.test").resolver("dns", dns).build());
  }

  @Test
  void namesAreLookedUp() throws IOException {
    Server a = named("a");
    Client client = client(Client.builder("dns:127.0.0.1:" + a.port()));
    assertEquals("a", say(client, Metadata.EMPTY));
    assertEquals("127.0.0.1", Pair.await(client.endpoints()).get(0).endpoint().serverName());
  }

  @Test
  void pickersOfUsersAreAskedAndToldHowCallsEnd() throws IOException {
    Server a = named("a");
    Server b = named("b");
    ConcurrentLinkedQueue<String> told = new ConcurrentLinkedQueue<>();
    Balancer last =
        endpoints ->
            new PickObserver() {
              @Override
              public EndpointState pick(Pick call) {
                return endpoints.get(endpoints.size() - 1);
              }

              @Override
              public void ended(EndpointState endpoint, Outcome outcome) {
                told.add(endpoint.endpoint() + " " + outcome.status().code());
              }
            };
    Client client = client(Client.builder(address(a) + "," + address(b)).balancer(last));
    assertEquals(Map.of("b", 5L), answers(client, 5));
    String ok = address(b) + " OK";
    Pair.until(() -> told.stream().filter(ok::equals).count() == 5, "told " + told);
  }

  @Test
  void aPickerThatThrowsEndsTheCall() throws IOException {
    Balancer faulty =
        endpoints ->
            call -> {
              throw new IllegalStateException("oh");
            };
    Client client =
        client(Client.builder(address(named("a")) + "," + address(named("b"))).balancer(faulty));
    StatusException failure = Pair.failure(() -> client.call(Texts.SAY, "who"));
    assertEquals(Code.INTERNAL, failure.code());
    assertEquals(Delivery.NOT_SENT, failure.status().delivery());
    assertTrue(failure.status().message().endsWith("the picker failed: IllegalStateException: oh"));
  }

  @Test
  void idleConnectionsAreClosedAndOpenedAgain() throws IOException {
    Server a = named("a");
    Client client = client(Client.builder(address(a)).idleTimeout(Duration.ofMillis(200)));
    assertEquals("a", say(client, Metadata.EMPTY));
    Pair.until(() -> Pair.await(client.endpoints()).get(0).state() == State.IDLE, "it is not idle");
    Pair.until(() -> a.connections().isEmpty(), "the connection stays");
    assertEquals("a", say(client, Metadata.EMPTY));
  }

  @Test
  void severalConnectionsToAnEndpointAreKept() throws IOException {
    Server a = named("a");
    Client client = client(Client.builder(address(a)).connections(3));
    Pair.await(client.connect());
    assertEquals(3, Pair.await(client.endpoints()).get(0).connections().size());
    assertEquals(Map.of("a", 300L), answers(client, 300));
  }
}
