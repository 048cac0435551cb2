package io.trunkcall.spring.app;

import io.trunkcall.spring.EnableRemoteClients;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** A server and what calls it. */
@SpringBootApplication
@EnableRemoteClients
public class Application {
  /** What is injected. */
  public record Injected(CalculatorClient calculator) {}

  /** Made with the client. */
  @Bean
  public Injected injected(CalculatorClient calculator) {
    return new Injected(calculator);
  }
}
