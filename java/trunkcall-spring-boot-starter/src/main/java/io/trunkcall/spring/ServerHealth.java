package io.trunkcall.spring;

import io.trunkcall.Server;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/** Up while the server runs; out of service once it is being stopped; unknown without one. */
final class ServerHealth extends AbstractHealthIndicator {
  private final TrunkcallServer server;

  ServerHealth(TrunkcallServer server) {
    this.server = server;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    Server running = server.server();
    if (running == null) {
      health.unknown();
    } else if (running.leaving().isDone()) {
      health.outOfService();
    } else {
      health.up();
    }
    health.withDetail("addresses", server.addresses());
    health.withDetail("services", server.services());
  }
}
