package io.trunkcall.spring;

import static io.trunkcall.test.CallAssertions.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.trunkcall.Code;
import io.trunkcall.spring.app.Calculator;
import io.trunkcall.spring.app.CalculatorClient;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.metrics.MetricsAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.metrics.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;

/** Health and meters. */
@Timeout(90)
class ActuatorTest {
  @Configuration
  @EnableRemoteClients(clients = CalculatorClient.class)
  static class Callers {}

  private final ApplicationContextRunner contexts =
      Contexts.inMemory()
          .withConfiguration(
              AutoConfigurations.of(
                  MetricsAutoConfiguration.class,
                  SimpleMetricsExportAutoConfiguration.class,
                  CompositeMeterRegistryAutoConfiguration.class))
          .withUserConfiguration(Callers.class);

  private static Health health(ApplicationContext context, String of) {
    return context.getBean(of + "HealthIndicator", HealthIndicator.class).health();
  }

  @Test
  void theHealthOfTheServerIsThatItRuns() {
    contexts
        .withBean(Calculator.class)
        .run(
            context -> {
              Health up = health(context, "trunkcallServer");
              assertThat(up.getStatus()).isEqualTo(Status.UP);
              assertThat(up.getDetails())
                  .containsEntry("services", Map.of("calc", List.of("div", "served")));
              context.getBean(TrunkcallServer.class).stop();
              assertThat(health(context, "trunkcallServer").getStatus()).isEqualTo(Status.UNKNOWN);
            });
  }

  @Test
  void theHealthOfClientsIsThatOfTheirEndpoints() {
    contexts.run(
        context -> {
          assertThat(health(context, "trunkcallClients").getStatus()).isEqualTo(Status.UP);
          CalculatorClient calculator = context.getBean(CalculatorClient.class);
          assertFails(Code.UNAVAILABLE, () -> calculator.div(6, 3));
          Health down = health(context, "trunkcallClients");
          assertThat(down.getStatus()).isEqualTo(Status.DOWN);
          String target = context.getEnvironment().getProperty("calc.target");
          assertThat(down.getDetails().get(target).toString()).contains("FAILING: ");
        });
  }

  @Test
  void callsAreTimedByMethodCodeAndDeliveryAtBothEnds() {
    contexts
        .withBean(Calculator.class)
        .run(
            context -> {
              CalculatorClient calculator = context.getBean(CalculatorClient.class);
              calculator.div(6, 3);
              calculator.div(6, 3);
              assertFails(Code.INVALID_ARGUMENT, () -> calculator.div(1, 0));
              MeterRegistry registry = context.getBean(SimpleMeterRegistry.class);
              for (String side : List.of("client", "server")) {
                String name = "trunkcall." + side + ".calls";
                assertThat(count(registry, name, "OK", "executed")).isEqualTo(2);
                assertThat(count(registry, name, "INVALID_ARGUMENT", "executed")).isEqualTo(1);
              }
            });
  }

  private static long count(MeterRegistry registry, String name, String code, String delivery) {
    Tags tags = Tags.of("method", "/calc/div", "kind", "unary", "code", code, "delivery", delivery);
    return registry.get(name).tags(tags).timer().count();
  }

  @Test
  void gaugesTellOfConnectionsAndHandlers() {
    contexts
        .withBean(Calculator.class)
        .run(
            context -> {
              context
                  .getBean(TrunkcallClients.class)
                  .client("calc")
                  .connect()
                  .get(60, TimeUnit.SECONDS);
              MeterRegistry registry = context.getBean(SimpleMeterRegistry.class);
              assertThat(registry.get("trunkcall.server.connections").gauge().value()).isOne();
              assertThat(registry.get("trunkcall.server.handlers.running").gauge().value())
                  .isZero();
              assertThat(registry.get("trunkcall.server.calls.refused").functionCounter().count())
                  .isZero();
              String target = context.getEnvironment().getProperty("calc.target");
              assertThat(
                      registry
                          .get("trunkcall.client.connections")
                          .tag("target", target)
                          .gauge()
                          .value())
                  .isOne();
            });
  }

  @Test
  void withoutActuatorAndMicrometerTheRestIsThere() {
    Contexts.inMemory()
        .withUserConfiguration(Callers.class)
        .withBean(Calculator.class)
        .withClassLoader(
            new FilteredClassLoader("org.springframework.boot.actuate", "io.micrometer.core"))
        .run(
            context -> {
              assertThat(context.getBean(CalculatorClient.class).div(6, 3)).isEqualTo(2);
              assertThat(context).doesNotHaveBean(HealthAutoConfiguration.class);
              assertThat(context)
                  .doesNotHaveBean(io.trunkcall.spring.MetricsAutoConfiguration.class);
            });
  }
}
