package io.trunkcall.spring;

import static io.trunkcall.test.CallAssertions.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.trunkcall.Admission;
import io.trunkcall.Admitted;
import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.ServerInterceptor;
import io.trunkcall.StatusException;
import io.trunkcall.Tls;
import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import io.trunkcall.spring.app.Calculator;
import io.trunkcall.spring.app.CalculatorClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

/** What is served, and by which properties. */
@Timeout(90)
class ServerAutoConfigurationTest {
  private final ApplicationContextRunner contexts =
      Contexts.inMemory().withUserConfiguration(Callers.class);

  @Configuration
  @EnableRemoteClients(clients = CalculatorClient.class)
  static class Callers {}

  @Configuration
  static class Calculators {
    @Bean
    Calculator calculator() {
      return new Calculator();
    }
  }

  private ApplicationContextRunner serving() {
    return contexts.withUserConfiguration(Calculators.class);
  }

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
  void withoutAnythingToServeNobodyListens() {
    contexts.run(
        context -> assertThat(context.getBean(TrunkcallServer.class).isRunning()).isFalse());
  }

  @Test
  void aServerThatIsNotEnabledIsNotThere() {
    serving()
        .withPropertyValues("trunkcall.server.enabled=false")
        .run(context -> assertThat(context).doesNotHaveBean(TrunkcallServer.class));
  }

  @Test
  void anAddressInUseEndsTheStart() {
    serving()
        .withPropertyValues("trunkcall.server.listen=mem:taken,mem:taken")
        .run(
            context ->
                assertThat(context.getStartupFailure())
                    .hasStackTraceContaining("trunkcall.server.listen: ")
                    .hasStackTraceContaining("mem:taken"));
  }

  @Test
  void whatAPropertySaysWronglyIsNamed() {
    assertThat(failure(serving().withPropertyValues("trunkcall.server.limits.calls=-1")))
        .startsWith("trunkcall.server.limits.calls: -1 was given");
    assertThat(failure(serving().withPropertyValues("trunkcall.server.limits.window=3GB")))
        .isEqualTo("trunkcall.server.limits.window: 3221225472B is 2 GB or more");
    assertThat(failure(serving().withPropertyValues("trunkcall.server.handler-threads=0")))
        .startsWith("trunkcall.server.handler-threads: 0 was given");
    assertThat(failure(serving().withPropertyValues("trunkcall.server.tls.bundle=none")))
        .startsWith("trunkcall.server.tls: bundle \"none\": there is none of that name");
    assertThat(failure(serving().withPropertyValues("trunkcall.server.tls.certificate=a.pem")))
        .isEqualTo("trunkcall.server.tls: want certificate and private-key, or a bundle");
  }

  @ParameterizedTest
  @CsvSource({
    "trunkcall.server.memory,-1B",
    "trunkcall.server.running-handlers,0",
    "trunkcall.server.handler-threads,0",
    "trunkcall.server.keepalive,interval=-1s",
    "trunkcall.server.max-connection-age,-1s",
    "trunkcall.server.drain-delay,-1s",
    "trunkcall.server.max-connections,-1",
    "trunkcall.server.max-connections-per-address,-1",
    "trunkcall.server.limits.message-size,-1B",
    "trunkcall.server.limits.calls,-1",
    "trunkcall.server.limits.metadata-size,1B",
    "trunkcall.server.limits.metadata-entries,1",
    "trunkcall.server.limits.window,1B",
    "trunkcall.server.limits.pool,-1B",
    "trunkcall.server.limits.max-pool,-2B",
    "trunkcall.server.allow-cleartext,perhaps",
    "trunkcall.server.max-connection-age,long",
    "trunkcall.server.compression,lzw",
    "trunkcall.clients.calc.connections,0",
    "trunkcall.clients.calc.most-endpoints,-1",
    "trunkcall.clients.calc.idle-timeout,-1s",
    "trunkcall.clients.calc.limits.calls,-1",
    "trunkcall.clients.calc.balancer,any",
  })
  void eachPropertyThatIsWrongIsNamed(String property, String value) {
    String given = value.contains("=") ? property + "." + value : property + "=" + value;
    serving()
        .withPropertyValues(given)
        .run(
            context -> {
              assertThat(context).hasFailed();
              String wanted = property.replace("trunkcall.clients.calc.", "");
              assertThat(context.getStartupFailure()).hasStackTraceContaining(wanted);
              if (property.startsWith("trunkcall.server") && value.matches("-?[0-9]+[Bs]?")) {
                assertThat(Contexts.cause(context.getStartupFailure()))
                    .startsWith(property + ": ")
                    .contains("want ");
              }
            });
  }

  @Test
  void namesMayBeWrittenAsSpringTakesThem() {
    for (String name : List.of("maxConnections", "max_connections", "MAX-CONNECTIONS")) {
      assertThat(failure(serving().withPropertyValues("trunkcall.server." + name + "=-1")))
          .startsWith("trunkcall.server.max-connections: -1 was given");
    }
  }

  @Test
  void whatPropertiesSayIsTakenByTheBuilders() {
    serving()
        .withPropertyValues(
            "trunkcall.server.allow-cleartext=false",
            "trunkcall.server.memory=64MB",
            "trunkcall.server.running-handlers=10",
            "trunkcall.server.keepalive.interval=30s",
            "trunkcall.server.max-connection-age=10m",
            "trunkcall.server.drain-delay=1ms",
            "trunkcall.server.max-connections=10",
            "trunkcall.server.max-connections-per-address=5",
            "trunkcall.server.compression=gzip",
            "trunkcall.server.strict-json=true",
            "trunkcall.server.native-only=true",
            "trunkcall.server.limits.message-size=1MB",
            "trunkcall.clients.default.compression=gzip",
            "trunkcall.clients.default.balancer=least-loaded",
            "trunkcall.clients.default.connections=2",
            "trunkcall.clients.default.most-endpoints=3",
            "trunkcall.clients.default.idle-timeout=1m",
            "trunkcall.clients.default.keepalive.timeout=5s",
            "trunkcall.clients.default.limits.message-size=1MB",
            "trunkcall.clients.calc.repeat=false",
            "trunkcall.clients.calc.wait-for-ready=true")
        .run(context -> assertThat(context.getBean(CalculatorClient.class).div(6, 3)).isEqualTo(2));
  }

  @Test
  void handlersHaveAsManyThreadsAsIsSaid() {
    serving()
        .withPropertyValues("trunkcall.server.handler-threads=1")
        .run(
            context -> {
              CalculatorClient calculator = context.getBean(CalculatorClient.class);
              assertThat(calculator.served()).startsWith("trunkcall-handler-1 ");
              assertThat(calculator.served()).startsWith("trunkcall-handler-1 ");
            });
  }

  @Test
  void theServerTakesTheCertificatesOfItsProperties(@TempDir Path folder) throws Exception {
    X509Bundle made =
        new CertificateBuilder()
            .subject("CN=localhost")
            .addSanDnsName("localhost")
            .addSanIpAddress("127.0.0.1")
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    Path certificate = folder.resolve("certificate.pem");
    Path key = folder.resolve("key.pem");
    Files.writeString(certificate, made.getCertificatePathPEM());
    Files.writeString(key, made.getPrivateKeyPEM());
    String[] files = {
      "trunkcall.server.tls.certificate=" + certificate, "trunkcall.server.tls.private-key=" + key
    };
    String[] bundle = {
      "spring.ssl.bundle.pem.ours.keystore.certificate=" + certificate.toUri(),
      "spring.ssl.bundle.pem.ours.keystore.private-key=" + key.toUri(),
      "trunkcall.server.tls.bundle=ours"
    };
    for (String[] properties : List.of(files, bundle)) {
      serving()
          .withPropertyValues("trunkcall.server.listen=127.0.0.1:0")
          .withPropertyValues(properties)
          .run(
              context -> {
                assertThat(context).hasNotFailed();
                String target = context.getBean(TrunkcallServer.class).addresses().get(0);
                try (Client client =
                    Client.builder(target).tls(Tls.trusting(certificate)).build()) {
                  assertThat(CodeFirst.client(CalculatorClient.class, client).div(6, 3))
                      .isEqualTo(2);
                }
              });
    }
  }

  @Configuration
  static class Guards {
    final List<String> seen = new CopyOnWriteArrayList<>();

    @Bean
    @Order(2)
    ServerInterceptor second() {
      return (call, next) -> {
        seen.add("second");
        return next.proceed(call);
      };
    }

    @Bean
    @Order(1)
    ServerInterceptor first() {
      return (call, next) -> {
        seen.add("first");
        return next.proceed(call);
      };
    }

    @Bean
    Admission admission() {
      return arrival -> {
        if (arrival.method().name().equals("/calc/served")) {
          throw new StatusException(Code.PERMISSION_DENIED, "not you");
        }
        return Admitted.ANYBODY;
      };
    }

    @Bean
    ServerCustomizer customizer() {
      return builder ->
          builder.serverInterceptor(
              (call, next) -> {
                seen.add("customizer's");
                return next.proceed(call);
              });
    }
  }

  @Test
  void interceptorsAndAdmissionStandBeforeTheServices() {
    serving()
        .withUserConfiguration(Guards.class)
        .run(
            context -> {
              CalculatorClient calculator = context.getBean(CalculatorClient.class);
              assertFails(Code.PERMISSION_DENIED, Delivery.REFUSED, calculator::served);
              assertThat(calculator.div(6, 3)).isEqualTo(2);
              assertThat(context.getBean(Guards.class).seen)
                  .containsExactly("first", "second", "customizer's");
            });
  }

  /** A second class of the same public name. */
  @RemoteService("calc")
  static class Other {
    @RemoteMethod
    public long div(long dividend, long divisor) {
      return 0;
    }
  }

  @Test
  void oneMethodOfTwoBeansIsRefusedByTheirClasses() {
    assertThat(failure(serving().withBean(Other.class)))
        .contains(Calculator.class.getName(), Other.class.getName(), "/calc/div");
  }

  /** Annotates what cannot be served. */
  @RemoteService("hidden")
  static class Hidden {
    @RemoteMethod
    long secret() {
      return 0;
    }
  }

  @Test
  void aMethodThatIsNotPublicIsRefusedByItsName() {
    assertThat(failure(contexts.withBean(Hidden.class)))
        .startsWith(Hidden.class.getName() + ".secret: it has @RemoteMethod");
  }

  /** Says what the compiler has not checked. */
  @RemoteService("calc")
  static class Words {
    @RemoteMethod
    public String div(String dividend, String divisor) {
      return dividend + divisor;
    }
  }

  @Test
  void aClientsInterfaceThatDoesNotMatchIsRefusedByItsMethod() {
    assertThat(failure(contexts.withBean(Words.class)))
        .startsWith(CalculatorClient.class.getName() + ".div: ")
        .contains(Words.class.getName() + ".div");
  }

  /** Wraps beans, as transactions and caches of Spring's do. */
  private static BeanPostProcessor wrapping(boolean classes) {
    return new BeanPostProcessor() {
      @Override
      public Object postProcessAfterInitialization(Object bean, String name) {
        if (!(bean instanceof Greeting || bean instanceof Polite)) {
          return bean;
        }
        ProxyFactory factory = new ProxyFactory(bean);
        factory.setProxyTargetClass(classes);
        factory.addAdvice(
            (org.aopalliance.intercept.MethodInterceptor) call -> "advised " + call.proceed());
        return factory.getProxy();
      }
    };
  }

  interface Greets {
    String greet(String name);
  }

  @RemoteService("greeting")
  static class Greeting implements Greets {
    @Override
    @RemoteMethod
    public String greet(String name) {
      return "Hello, " + name;
    }
  }

  @RemoteService("polite")
  interface Politeness {
    @RemoteMethod
    String bow(String name);
  }

  static class Polite implements Politeness {
    @Override
    public String bow(String name) {
      return "Sir " + name;
    }
  }

  @io.trunkcall.codefirst.RemoteClient(service = "greeting", target = "${calc.target}")
  interface GreetingClient {
    String greet(String name);
  }

  @io.trunkcall.codefirst.RemoteClient(service = "polite", target = "${calc.target}")
  interface PolitenessClient {
    String bow(String name);
  }

  @Configuration
  @EnableRemoteClients(clients = {GreetingClient.class, PolitenessClient.class})
  static class Greeters {}

  @Test
  void adviceOfSpringsIsRunAroundWhatIsServed() {
    contexts
        .withUserConfiguration(Greeters.class)
        .withBean(Greeting.class)
        .withBean(Polite.class)
        .withBean(BeanPostProcessor.class, () -> wrapping(true))
        .run(
            context -> {
              assertThat(context.getBean(GreetingClient.class).greet("Ada"))
                  .isEqualTo("advised Hello, Ada");
              assertThat(context.getBean(PolitenessClient.class).bow("Ada"))
                  .isEqualTo("advised Sir Ada");
            });
    contexts
        .withUserConfiguration(Greeters.class)
        .withBean(Polite.class)
        .withBean(BeanPostProcessor.class, () -> wrapping(false))
        .run(
            context ->
                assertThat(context.getBean(PolitenessClient.class).bow("Ada"))
                    .isEqualTo("advised Sir Ada"));
  }

  @Test
  void aProxyThatHidesTheAnnotationIsRefusedWithAdvice() {
    assertThat(
            failure(
                contexts
                    .withBean("greeting", Greeting.class)
                    .withBean(BeanPostProcessor.class, () -> wrapping(false))))
        .startsWith(Greeting.class.getName() + ": bean greeting stands behind a proxy")
        .contains("spring.aop.proxy-target-class");
  }
}
