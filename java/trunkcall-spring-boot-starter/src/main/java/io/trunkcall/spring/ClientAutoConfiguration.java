package io.trunkcall.spring;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** Makes the clients of what {@link EnableRemoteClients} finds, and of those that have a name. */
@AutoConfiguration(after = SslAutoConfiguration.class)
@EnableConfigurationProperties(ClientsProperties.class)
public class ClientAutoConfiguration {
  private static final int FALLBACKS = 64; // threads that may wait in fallbacks at a time

  /** Made by Spring. */
  public ClientAutoConfiguration() {}

  @Bean
  TrunkcallClients trunkcallClients(
      ConfigurableListableBeanFactory beans, ClientsProperties properties) {
    return new TrunkcallClients(beans, properties, Threads.pool("trunkcall-fallback-", FALLBACKS));
  }
}
