package io.trunkcall.spring;

import static io.trunkcall.test.CallAssertions.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Server;
import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import io.trunkcall.spring.app.Application;
import io.trunkcall.spring.app.CalculatorClient;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Whole applications. */
@Timeout(90)
class ApplicationTest {
  private static ConfigurableApplicationContext run(Class<?> source, String... properties) {
    return new SpringApplicationBuilder(source)
        .web(WebApplicationType.NONE)
        .properties(properties)
        .properties("spring.main.banner-mode=off", "logging.level.root=warn")
        .run();
  }

  @Test
  void oneApplicationCallsAnotherThroughAnInjectedClient() {
    try (ConfigurableApplicationContext server =
        run(Application.class, "trunkcall.server.listen=127.0.0.1:0", "calc.target=mem:nobody")) {
      String port = server.getEnvironment().getRequiredProperty(TrunkcallServer.PORT);
      try (ConfigurableApplicationContext client =
          run(
              Application.class,
              "trunkcall.server.enabled=false",
              "calc.target=127.0.0.1:" + port)) {
        CalculatorClient calculator = client.getBean(Application.Injected.class).calculator();
        assertThat(calculator.div(6, 3)).isEqualTo(2);
        assertThat(calculator.divAsync(6, 3).join()).isEqualTo(2);
        assertFails(Code.INVALID_ARGUMENT, Delivery.EXECUTED, () -> calculator.div(1, 0));
      }
    }
  }

  @Test
  void theServerListensWhereItIsToldAndTellsWhere() {
    try (ConfigurableApplicationContext context =
        run(
            Application.class,
            "trunkcall.server.listen=127.0.0.1:0,mem:application",
            "calc.target=mem:application")) {
      TrunkcallServer server = context.getBean(TrunkcallServer.class);
      int port = context.getEnvironment().getRequiredProperty(TrunkcallServer.PORT, Integer.class);
      assertThat(server.addresses()).containsExactly("127.0.0.1:" + port, "mem:application");
      assertThat(server.services()).containsEntry("calc", List.of("div", "served"));
      assertThat(context.getBean(CalculatorClient.class).div(6, 3)).isEqualTo(2);
      server.stop();
      assertThat(server.isRunning()).isFalse();
      server.start();
      try (Client client = Client.of("mem:application")) {
        assertThat(CodeFirst.client(CalculatorClient.class, client).div(6, 3)).isEqualTo(2);
      }
    }
  }

  @Test
  void theServerStartsInAnApplicationWhoseBeansAreLazy() {
    try (ConfigurableApplicationContext context =
        run(
            Application.class,
            "spring.main.lazy-initialization=true",
            "trunkcall.server.listen=mem:lazy",
            "calc.target=mem:lazy")) {
      assertThat(context.getBean(CalculatorClient.class).div(6, 3)).isEqualTo(2);
    }
  }

  /** Begins a call and ends it when it is told to. */
  @RemoteService("slow")
  static class Slow {
    final CountDownLatch began = new CountDownLatch(1);
    final CountDownLatch end = new CountDownLatch(1);

    @RemoteMethod
    public String wait(String word) throws InterruptedException {
      began.countDown();
      return end.await(60, TimeUnit.SECONDS) ? word : "nobody ended it";
    }
  }

  @io.trunkcall.codefirst.RemoteClient(service = "slow")
  interface SlowClient {
    CompletableFuture<String> wait(String word);
  }

  @Configuration
  @org.springframework.boot.autoconfigure.EnableAutoConfiguration
  static class SlowApplication {
    @Bean
    Slow slow() {
      return new Slow();
    }
  }

  @Test
  void whatRunsWhenTheContextClosesIsAnswered() throws Exception {
    ConfigurableApplicationContext context =
        run(SlowApplication.class, "trunkcall.server.listen=mem:slow");
    Slow slow = context.getBean(Slow.class);
    TrunkcallServer bean = context.getBean(TrunkcallServer.class);
    Server server = bean.server();
    try (Client client = Client.of("mem:slow")) {
      CompletableFuture<String> call = CodeFirst.client(SlowClient.class, client).wait("answered");
      assertThat(slow.began.await(60, TimeUnit.SECONDS)).isTrue();
      Thread closing = new Thread(context::close);
      closing.start();
      server.stopping().get(60, TimeUnit.SECONDS);
      assertThat(new ServerHealth(bean).health().getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
      slow.end.countDown();
      assertThat(call.get(60, TimeUnit.SECONDS)).isEqualTo("answered");
      closing.join();
    }
    assertThat(server.addresses()).isEmpty();
  }

  @Test
  void whatDoesNotEndInSpringsTimeIsCutOff() throws Exception {
    ConfigurableApplicationContext context =
        run(
            SlowApplication.class,
            "trunkcall.server.listen=mem:cut",
            "spring.lifecycle.timeout-per-shutdown-phase=1s");
    Slow slow = context.getBean(Slow.class);
    try (Client client = Client.of("mem:cut")) {
      CompletableFuture<String> call = CodeFirst.client(SlowClient.class, client).wait("lost");
      assertThat(slow.began.await(60, TimeUnit.SECONDS)).isTrue();
      context.close();
      assertFails(Code.UNAVAILABLE, Delivery.UNKNOWN, call);
    }
  }
}
