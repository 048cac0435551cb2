package io.trunkcall.spring;

import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Contexts to test in. */
final class Contexts {
  private static final AtomicInteger NAMES = new AtomicInteger();

  private Contexts() {}

  /** What the starter configures, with a server and clients in memory. */
  static ApplicationContextRunner inMemory() {
    String name = "mem:spring-" + NAMES.incrementAndGet();
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                SslAutoConfiguration.class,
                ServerAutoConfiguration.class,
                ClientAutoConfiguration.class,
                HealthAutoConfiguration.class,
                MetricsAutoConfiguration.class))
        .withPropertyValues("trunkcall.server.listen=" + name, "calc.target=" + name);
  }

  /** The last cause of why a context has not started. */
  static String cause(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null
        && cause.getCause() != cause
        && !(cause instanceof IllegalArgumentException)) {
      cause = cause.getCause();
    }
    return cause.getMessage();
  }
}
