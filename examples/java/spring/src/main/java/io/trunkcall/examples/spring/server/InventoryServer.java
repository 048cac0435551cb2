package io.trunkcall.examples.spring.server;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** Serves an annotated class and a service of grpc-java on one port, until it is signalled. */
@SpringBootApplication
public class InventoryServer {
  public static ConfigurableApplicationContext run(String... args) {
    return new SpringApplicationBuilder(InventoryServer.class)
        .properties("spring.config.name=server")
        .run(args);
  }

  public static void main(String[] args) throws InterruptedException {
    run(args);
    Thread.currentThread().join(); // Spring's own shutdown hook stops the server
  }
}
