package io.trunkcall.spring;

import java.time.Duration;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.autoconfigure.thread.Threading;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.ConfigurableEnvironment;

/**
 * Serves the beans with {@link io.trunkcall.codefirst.RemoteService}, those that are a {@link
 * io.trunkcall.Handler}, and with {@code trunkcall-grpc} those that are a {@code BindableService}.
 */
@AutoConfiguration(after = SslAutoConfiguration.class)
@EnableConfigurationProperties(ServerProperties.class)
@ConditionalOnProperty(name = "trunkcall.server.enabled", matchIfMissing = true)
public class ServerAutoConfiguration {
  private static final String PHASE = "spring.lifecycle.timeout-per-shutdown-phase";
  private static final Duration USUAL = Duration.ofSeconds(30); // Spring's own

  /** Made by Spring. */
  public ServerAutoConfiguration() {}

  @Bean
  TrunkcallServer trunkcallServer(
      ConfigurableListableBeanFactory beans,
      ServerProperties properties,
      ConfigurableEnvironment environment) {
    Boolean virtual = properties.virtualThreads();
    boolean virtualThreads = virtual == null ? Threading.VIRTUAL.isActive(environment) : virtual;
    return new TrunkcallServer(
        new Services(beans, properties, virtualThreads),
        environment,
        grace(environment, properties.drainDelay()));
  }

  /**
   * What handlers have of the time that Spring waits: some of it is for callers to hear that they
   * are cut off, and for the drain delay.
   */
  private static Duration grace(ConfigurableEnvironment environment, Duration drainDelay) {
    Duration phase = Binder.get(environment).bind(PHASE, Duration.class).orElse(USUAL);
    Duration rest = phase.dividedBy(5);
    Duration margin = rest.compareTo(Duration.ofSeconds(2)) < 0 ? rest : Duration.ofSeconds(2);
    Duration grace = phase.minus(margin).minus(drainDelay);
    return grace.isNegative() ? Duration.ZERO : grace;
  }
}
