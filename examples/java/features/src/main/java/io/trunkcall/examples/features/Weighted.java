package io.trunkcall.examples.features;

import io.trunkcall.Balancer;
import io.trunkcall.Client;
import io.trunkcall.Endpoint;
import io.trunkcall.EndpointState;
import io.trunkcall.Handler;
import io.trunkcall.Picker;
import io.trunkcall.Server;
import io.trunkcall.State;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;

/** A balancer of one's own: it draws among the endpoints that are ready, by their weights. */
public final class Weighted implements Balancer {
  /** Is asked for a picker with each change; the picker is asked for the endpoint of each call. */
  @Override
  public Picker balance(List<EndpointState> endpoints) {
    List<EndpointState> lots = new ArrayList<>();
    for (EndpointState one : endpoints) {
      for (int lot = 0; lot < one.endpoint().weight(); lot++) {
        if (one.state() == State.READY) {
          lots.add(one);
        }
      }
    }
    return pick ->
        lots.isEmpty()
            ? null // the call waits while there is something to wait for
            : lots.get(ThreadLocalRandom.current().nextInt(lots.size()));
  }

  private static Server server(String name) {
    return Server.builder()
        .serve(Handler.unary(Users.GET, (request, call) -> Users.user(name)))
        .build();
  }

  public static void main(String[] args) throws IOException {
    try (Server small = server("small");
        Server large = server("large")) {
      List<Endpoint> servers =
          List.of(
              Endpoint.of(small.listen("127.0.0.1:0")),
              Endpoint.builder(large.listen("127.0.0.1:0")).weight(9).build());
      try (Client client =
          Client.builder("servers:")
              .resolver("servers", watch -> watch.set(servers))
              .balancer(new Weighted())
              .build()) {
        client.connect().join(); // to both
        Map<String, Integer> served = new TreeMap<>();
        for (int call = 0; call < 1000; call++) {
          served.merge(client.call(Users.GET, Users.request(7)).getName(), 1, Integer::sum);
        }
        System.out.println(served);
      }
    }
  }
}
