package io.trunkcall.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.trunkcall.ClientInterceptor;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.spring.app.Calculator;
import io.trunkcall.spring.app.CalculatorClient;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** What is called, and by which properties. */
@Timeout(90)
class ClientAutoConfigurationTest {
  private final ApplicationContextRunner contexts =
      Contexts.inMemory().withUserConfiguration(Callers.class).withBean(Calculator.class);

  @Configuration
  @EnableRemoteClients(basePackageClasses = CalculatorClient.class)
  static class Callers {}

  private static String failure(ApplicationContextRunner runner) {
    String[] message = {""};
    runner.run(
        context -> {
          assertThat(context).hasFailed();
          message[0] = Contexts.cause(context.getStartupFailure());
        });
    return message[0];
  }

  @Test
  void anInterfaceIsInjectedByItsType() {
    contexts.run(
        context -> {
          CalculatorClient calculator = context.getBean(CalculatorClient.class);
          assertThat(calculator).isSameAs(context.getBean(CalculatorClient.class));
          assertThat(calculator.div(6, 3)).isEqualTo(2);
        });
  }

  @Test
  void propertiesSayMoreOfTimeoutsThanTheInterface() {
    contexts.run(
        context ->
            assertThat(left(context.getBean(CalculatorClient.class))).isBetween(500L, 1000L));
    contexts
        .withPropertyValues(
            "trunkcall.clients.calc.timeout=2000s", "trunkcall.clients.default.timeout=4000s")
        .run(
            context ->
                assertThat(left(context.getBean(CalculatorClient.class))).isBetween(1500L, 2000L));
    contexts
        .withPropertyValues(
            "trunkcall.clients.calc.timeout=2000s",
            "trunkcall.clients.calc.methods.served.timeout=3000s")
        .run(
            context ->
                assertThat(left(context.getBean(CalculatorClient.class))).isBetween(2500L, 3000L));
    contexts
        .withPropertyValues("trunkcall.clients.default.timeout=4000s")
        .run(
            context ->
                assertThat(left(context.getBean(CalculatorClient.class))).isBetween(3500L, 4000L));
  }

  private static long left(CalculatorClient calculator) {
    return Long.parseLong(calculator.served().split(" ")[1]);
  }

  @Test
  void theTargetOfThePropertiesCountsFirst() {
    contexts
        .withPropertyValues("trunkcall.clients.calc.target=mem:elsewhere")
        .run(
            context ->
                assertThat(context.getBean(TrunkcallClients.class).client("calc").target())
                    .isEqualTo("mem:elsewhere"));
  }

  @RemoteClient(service = "nowhere")
  interface Nowhere {
    void go();
  }

  @Configuration
  @EnableRemoteClients(clients = Nowhere.class)
  static class Lost {}

  @Test
  void aMissingTargetIsRefusedByItsInterface() {
    ApplicationContextRunner lost = Contexts.inMemory().withUserConfiguration(Lost.class);
    assertThat(failure(lost))
        .isEqualTo(
            Nowhere.class.getName()
                + ": it says no target, and trunkcall.clients.nowhere.target is not set");
    lost.withPropertyValues("trunkcall.clients.default.target=mem:everything")
        .run(
            context ->
                assertThat(context.getBean(TrunkcallClients.class).client("nowhere").target())
                    .isEqualTo("mem:everything"));
  }

  @Test
  void aPlaceholderThatNobodyFillsIsRefusedByItsInterface() {
    ApplicationContextRunner lost =
        new ApplicationContextRunner()
            .withConfiguration(
                org.springframework.boot.autoconfigure.AutoConfigurations.of(
                    ClientAutoConfiguration.class))
            .withUserConfiguration(Callers.class);
    assertThat(failure(lost))
        .startsWith(CalculatorClient.class.getName() + ": target \"${calc.target}\": ")
        .contains("calc.target");
  }

  @Test
  void whatCannotBeATargetIsRefusedByItsInterface() {
    assertThat(failure(contexts.withPropertyValues("calc.target=localhost")))
        .startsWith(CalculatorClient.class.getName() + ": target \"localhost\"");
  }

  @RemoteClient(service = "odd", target = "mem:odd")
  interface Odd {
    void take(Thread argument);
  }

  @Configuration
  @EnableRemoteClients(clients = Odd.class)
  static class Odds {}

  @Test
  void aMethodThatCannotBeCalledIsRefusedByItsName() {
    assertThat(failure(Contexts.inMemory().withUserConfiguration(Odds.class)))
        .startsWith(Odd.class.getName() + ".take: ");
  }

  @Test
  void aNameThatNobodyHasIsRefused() {
    assertThat(failure(contexts.withPropertyValues("trunkcall.clients.clac.timeout=1s")))
        .startsWith("trunkcall.clients.clac: it has no target")
        .endsWith("calc");
  }

  @RemoteClient(service = "calc", target = "${calc.target}")
  interface AlsoCalculator {
    @RemoteMethod("div")
    long divide(long dividend, long divisor);
  }

  @RemoteClient(service = "another", target = "${calc.target}")
  interface Another {
    void call();
  }

  @Configuration
  @EnableRemoteClients(clients = {AlsoCalculator.class, Another.class})
  static class More {}

  @Test
  void interfacesOfOneTargetShareAClient() {
    ApplicationContextRunner more = contexts.withUserConfiguration(More.class);
    more.run(
        context -> {
          TrunkcallClients clients = context.getBean(TrunkcallClients.class);
          assertThat(clients.all()).hasSize(1);
          assertThat(context.getBean(AlsoCalculator.class).divide(6, 3)).isEqualTo(2);
        });
    more.withPropertyValues("trunkcall.clients.another.connections=2")
        .run(context -> assertThat(context.getBean(TrunkcallClients.class).all()).hasSize(2));
  }

  @Test
  void aNameWithATargetIsAClientForOtherMethods() {
    contexts
        .withPropertyValues("trunkcall.clients.users.target=mem:users")
        .run(
            context -> {
              TrunkcallClients clients = context.getBean(TrunkcallClients.class);
              assertThat(clients.client("users").target()).isEqualTo("mem:users");
              assertThatThrownBy(() -> clients.client("user"))
                  .hasMessageContaining("trunkcall.clients.user.target");
            });
  }

  @Configuration
  static class Wrapping {
    final List<String> seen = new CopyOnWriteArrayList<>();

    @Bean
    ClientInterceptor interceptor() {
      return (call, next) -> {
        seen.add("interceptor");
        return next.proceed(call);
      };
    }

    @Bean
    ClientCustomizer customizer() {
      return (target, builder) ->
          builder.clientInterceptor(
              (call, next) -> {
                seen.add(target);
                return next.proceed(call);
              });
    }
  }

  @Test
  void interceptorsAndCustomizersAreThoseOfAllClients() {
    contexts
        .withUserConfiguration(Wrapping.class)
        .run(
            context -> {
              context.getBean(CalculatorClient.class).div(6, 3);
              String target = context.getEnvironment().getProperty("calc.target");
              assertThat(context.getBean(Wrapping.class).seen)
                  .containsExactly("interceptor", target);
            });
  }

  @Test
  void clientsAreClosedWithTheContext() {
    CalculatorClient[] kept = new CalculatorClient[1];
    contexts.run(context -> kept[0] = context.getBean(CalculatorClient.class));
    assertThatThrownBy(() -> kept[0].div(6, 3)).hasMessageContaining("CANCELLED");
  }
}
