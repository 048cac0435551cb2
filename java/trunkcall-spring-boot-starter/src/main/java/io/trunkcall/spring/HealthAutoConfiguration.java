package io.trunkcall.spring;

import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Actuator's health of the server and of clients. */
@AutoConfiguration(after = {ServerAutoConfiguration.class, ClientAutoConfiguration.class})
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
public class HealthAutoConfiguration {
  /** Made by Spring. */
  public HealthAutoConfiguration() {}

  @Bean
  @ConditionalOnBean(TrunkcallServer.class)
  @ConditionalOnEnabledHealthIndicator("trunkcallserver")
  @ConditionalOnMissingBean(name = "trunkcallServerHealthIndicator")
  HealthIndicator trunkcallServerHealthIndicator(TrunkcallServer server) {
    return new ServerHealth(server);
  }

  @Bean
  @ConditionalOnBean(TrunkcallClients.class)
  @ConditionalOnEnabledHealthIndicator("trunkcallclients")
  @ConditionalOnMissingBean(name = "trunkcallClientsHealthIndicator")
  HealthIndicator trunkcallClientsHealthIndicator(TrunkcallClients clients) {
    return new ClientsHealth(clients);
  }
}
