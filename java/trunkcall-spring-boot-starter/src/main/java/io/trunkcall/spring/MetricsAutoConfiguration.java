package io.trunkcall.spring;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.trunkcall.ClientInterceptor;
import io.trunkcall.ServerInterceptor;
import org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Micrometer's timers of calls, and gauges of clients and of the server. */
@AutoConfiguration(
    after = {
      ServerAutoConfiguration.class,
      ClientAutoConfiguration.class,
      CompositeMeterRegistryAutoConfiguration.class
    })
@ConditionalOnClass({MeterRegistry.class, CompositeMeterRegistryAutoConfiguration.class})
@ConditionalOnBean(MeterRegistry.class)
public class MetricsAutoConfiguration {
  /** Made by Spring. */
  public MetricsAutoConfiguration() {}

  @Bean
  @Order(Ordered.HIGHEST_PRECEDENCE)
  ServerInterceptor trunkcallServerTimer(MeterRegistry registry) {
    CallTimer timer = new CallTimer("trunkcall.server.calls", "Calls that were served", registry);
    return (call, next) -> {
      timer.time(call);
      return next.proceed(call);
    };
  }

  @Bean
  @Order(Ordered.HIGHEST_PRECEDENCE)
  ClientInterceptor trunkcallClientTimer(MeterRegistry registry) {
    CallTimer timer = new CallTimer("trunkcall.client.calls", "Calls that were made", registry);
    return (call, next) -> {
      timer.time(call);
      return next.proceed(call);
    };
  }

  @Bean
  @ConditionalOnBean(TrunkcallServer.class)
  MeterBinder trunkcallServerGauges(TrunkcallServer server) {
    return registry -> GaugeMeters.ofServer(server, registry);
  }

  @Bean
  @ConditionalOnBean(TrunkcallClients.class)
  MeterBinder trunkcallClientGauges(TrunkcallClients clients) {
    return registry -> GaugeMeters.ofClients(clients, registry);
  }
}
