package io.trunkcall.examples.features;

import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Endpoint;
import io.trunkcall.Handler;
import io.trunkcall.Resolver;
import io.trunkcall.Server;
import io.trunkcall.Watch;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A registry of one's own: which servers there are of a service, and who is told of changes. */
public final class Registry implements Resolver {
  /** Calls wait for a server that can be reached. */
  private static final CallOptions WAITING =
      CallOptions.NONE.withWaitForReady(true).withTimeout(Duration.ofSeconds(30));

  private final Map<String, List<String>> addresses = new HashMap<>(); // by service

  /** Says which servers there are of a service from now on. */
  synchronized void put(String service, String... servers) {
    addresses.put(service, List.of(servers));
    notifyAll();
  }

  /** Called for targets "registry:SERVICE". What it throws is logged, and it is called again. */
  @Override
  public void resolve(Watch watch) throws InterruptedException {
    for (List<String> known = List.of(); ; ) {
      known = next(watch.target(), known);
      watch.set(known.stream().map(Endpoint::of).toList());
    }
  }

  private synchronized List<String> next(String service, List<String> known)
      throws InterruptedException {
    while (addresses.getOrDefault(service, known).equals(known)) {
      wait();
    }
    return addresses.get(service);
  }

  private static Server server(String name) {
    return Server.builder()
        .serve(Handler.unary(Users.GET, (request, call) -> Users.user(name)))
        .build();
  }

  public static void main(String[] args) throws IOException {
    Registry registry = new Registry();
    try (Server one = server("one");
        Server two = server("two");
        Client client = Client.builder("registry:users").resolver("registry", registry).build()) {
      registry.put("users", one.listen("127.0.0.1:0"));
      System.out.println(client.call(Users.GET, Users.request(7), WAITING).getName());

      registry.put("users", two.listen("127.0.0.1:0"));
      one.stop();
      System.out.println(client.call(Users.GET, Users.request(7), WAITING).getName());
    }
  }
}
