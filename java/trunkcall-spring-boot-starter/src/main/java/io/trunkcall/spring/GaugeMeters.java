package io.trunkcall.spring;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.trunkcall.Client;
import io.trunkcall.Gauges;
import io.trunkcall.Server;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** What {@link Gauges} have, as meters. */
final class GaugeMeters {
  private static final Map<String, ToDoubleFunction<Gauges>> OF_BOTH =
      Map.of(
          "connections", Gauges::connections,
          "handlers.running", Gauges::runningHandlers,
          "calls.made", Gauges::callsMade,
          "calls.served", Gauges::callsServed,
          "calls.waiting", Gauges::waitingCalls,
          "bytes.held", Gauges::heldBytes,
          "bytes.unsent", Gauges::unsentBytes);
  private static final Map<String, ToDoubleFunction<Gauges>> COUNTS_OF_SERVER =
      Map.of(
          "calls.refused", Gauges::refused,
          "calls.cut.off", Gauges::cutOff,
          "oneway.failures", Gauges::oneWayFailures,
          "connections.rejected", Gauges::rejectedConnections,
          "observer.events.dropped", Gauges::droppedEvents);
  private static final Map<String, ToDoubleFunction<Gauges>> COUNTS_OF_CLIENT =
      Map.of(
          "connect.failures", Gauges::connectFailures,
          "observer.events.dropped", Gauges::droppedEvents);

  private GaugeMeters() {}

  static void ofServer(TrunkcallServer server, MeterRegistry registry) {
    Sampled sampled =
        new Sampled(
            () -> {
              Server running = server.server();
              return running == null ? null : running.gauges();
            });
    register("trunkcall.server.", Tags.empty(), sampled, COUNTS_OF_SERVER, registry);
  }

  static void ofClients(TrunkcallClients clients, MeterRegistry registry) {
    for (Client each : clients.all()) {
      Tags tags = Tags.of("target", each.target());
      register("trunkcall.client.", tags, new Sampled(each::gauges), COUNTS_OF_CLIENT, registry);
    }
  }

  private static void register(
      String prefix,
      Tags tags,
      Sampled sampled,
      Map<String, ToDoubleFunction<Gauges>> counts,
      MeterRegistry registry) {
    OF_BOTH.forEach(
        (name, value) ->
            Gauge.builder(prefix + name, sampled, from -> from.value(value))
                .tags(tags)
                .strongReference(true)
                .register(registry));
    counts.forEach(
        (name, value) ->
            FunctionCounter.builder(prefix + name, sampled, from -> from.value(value))
                .tags(tags)
                .register(registry));
  }
}
