package io.trunkcall.spring;

import io.trunkcall.Client;
import io.trunkcall.EndpointGauges;
import io.trunkcall.State;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * Down if a client has endpoints and cannot connect to any. A client that has not been called has
 * not connected, and is up.
 */
final class ClientsHealth extends AbstractHealthIndicator {
  private static final long PATIENCE = 10; // s for what an event loop knows

  private final TrunkcallClients clients;

  ClientsHealth(TrunkcallClients clients) {
    super("the endpoints of clients could not be asked for");
    this.clients = clients;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) throws Exception {
    health.up();
    for (Client client : clients.all()) {
      List<EndpointGauges> endpoints = client.endpoints().get(PATIENCE, TimeUnit.SECONDS);
      Map<String, String> states = new LinkedHashMap<>();
      for (EndpointGauges each : endpoints) {
        String why = each.error().isEmpty() ? "" : ": " + each.error();
        states.put(each.endpoint().toString(), each.state() + why);
      }
      health.withDetail(client.target(), states);
      if (!endpoints.isEmpty()
          && endpoints.stream().allMatch(each -> each.state() == State.FAILING)) {
        health.down();
      }
    }
  }
}
