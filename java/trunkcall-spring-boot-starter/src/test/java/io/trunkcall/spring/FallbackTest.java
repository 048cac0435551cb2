package io.trunkcall.spring;

import static io.trunkcall.test.CallAssertions.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.Callback;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import io.trunkcall.spring.app.Calculator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Who answers when a call has failed. */
@Timeout(90)
class FallbackTest {
  /** The forms of one method. */
  interface Forms {
    long div(long dividend, long divisor);

    @RemoteMethod("div")
    CompletableFuture<Long> divAsync(long dividend, long divisor);

    @RemoteMethod("div")
    void div(long dividend, long divisor, Callback<Long> done);
  }

  @RemoteClient(service = "calc", target = "${calc.target}")
  @ClientFallback(Zero.class)
  interface WithClass extends Forms {}

  /** Answers zero. */
  static class Zero implements WithClass {
    private final Environment environment; // Spring injects it

    Zero(Environment environment) {
      this.environment = environment;
    }

    @Override
    public long div(long dividend, long divisor) {
      return environment.getProperty("instead", Long.class, 0L);
    }

    @Override
    public CompletableFuture<Long> divAsync(long dividend, long divisor) {
      return CompletableFuture.completedFuture(div(dividend, divisor));
    }

    @Override
    public void div(long dividend, long divisor, Callback<Long> done) {
      done.ended(div(dividend, divisor), null);
    }
  }

  @RemoteClient(service = "calc", target = "${calc.target}")
  @ClientFallback(Choosing.class)
  interface WithFactory extends Forms {}

  /** Lets faults of the caller be, and answers the others. */
  static class Choosing implements FallbackFactory<WithFactory> {
    @Override
    public WithFactory create(StatusException failure) {
      if (failure.code() == Code.INVALID_ARGUMENT) {
        throw failure;
      }
      return new WithFactory() {
        @Override
        public long div(long dividend, long divisor) {
          return failure.code().number();
        }

        @Override
        public CompletableFuture<Long> divAsync(long dividend, long divisor) {
          return CompletableFuture.completedFuture(div(dividend, divisor));
        }

        @Override
        public void div(long dividend, long divisor, Callback<Long> done) {
          done.ended(div(dividend, divisor), null);
        }
      };
    }
  }

  @Configuration
  @EnableRemoteClients(clients = {WithClass.class, WithFactory.class})
  static class Callers {}

  private final ApplicationContextRunner contexts =
      Contexts.inMemory().withUserConfiguration(Callers.class);

  private static CompletableFuture<Long> calledBack(Forms client, long dividend, long divisor) {
    CompletableFuture<Long> done = new CompletableFuture<>();
    client.div(
        dividend,
        divisor,
        (result, failure) -> {
          if (failure == null) {
            done.complete(result);
          } else {
            done.completeExceptionally(failure);
          }
        });
    return done;
  }

  private static long later(CompletableFuture<Long> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  @Test
  void whatSucceedsIsAnsweredByTheService() {
    contexts
        .withBean(Calculator.class)
        .run(
            context -> {
              Forms client = context.getBean(WithClass.class);
              assertThat(client.div(6, 3)).isEqualTo(2);
              assertThat(later(client.divAsync(6, 3))).isEqualTo(2);
              assertThat(later(calledBack(client, 6, 3))).isEqualTo(2);
            });
  }

  @Test
  void aClassAnswersAllFailuresInAllForms() {
    contexts
        .withBean(Calculator.class)
        .withPropertyValues("instead=7")
        .run(
            context -> {
              Forms client = context.getBean(WithClass.class);
              assertThat(client.div(1, 0)).isEqualTo(7);
              assertThat(later(client.divAsync(1, 0))).isEqualTo(7);
              assertThat(later(calledBack(client, 1, 0))).isEqualTo(7);
            });
  }

  @Test
  void aFallbackThatIsABeanIsNeitherServedNorInjected() {
    contexts
        .withBean(Zero.class)
        .run(
            context -> {
              assertThat(context.getBean(WithClass.class)).isNotInstanceOf(Zero.class);
              assertThat(context.getBean(WithClass.class).div(1, 1)).isZero();
              assertThat(context.getBean(TrunkcallServer.class).isRunning()).isFalse();
            });
  }

  @Test
  void aFactoryIsToldTheFailureAndMayThrowIt() {
    contexts.run(
        context -> {
          Forms client = context.getBean(WithFactory.class);
          long unavailable = Code.UNAVAILABLE.number();
          assertThat(client.div(1, 1)).isEqualTo(unavailable);
          assertThat(later(client.divAsync(1, 1))).isEqualTo(unavailable);
          assertThat(later(calledBack(client, 1, 1))).isEqualTo(unavailable);
        });
    contexts
        .withBean(Calculator.class)
        .run(
            context -> {
              Forms client = context.getBean(WithFactory.class);
              assertFails(Code.INVALID_ARGUMENT, Delivery.EXECUTED, () -> client.div(1, 0));
              assertFails(Code.INVALID_ARGUMENT, client.divAsync(1, 0));
              assertFails(Code.INVALID_ARGUMENT, calledBack(client, 1, 0));
            });
  }

  @RemoteClient(service = "calc", target = "${calc.target}")
  @ClientFallback(Waiting.class)
  interface WithWaiting extends Forms {}

  /** Asks a service itself, and waits for the answer. */
  static class Waiting implements WithWaiting {
    private final Forms other;

    Waiting(WithClass other) {
      this.other = other;
    }

    @Override
    public long div(long dividend, long divisor) {
      return other.div(dividend, divisor + 1);
    }

    @Override
    public CompletableFuture<Long> divAsync(long dividend, long divisor) {
      return CompletableFuture.completedFuture(div(dividend, divisor));
    }

    @Override
    public void div(long dividend, long divisor, Callback<Long> done) {
      done.ended(div(dividend, divisor), null);
    }
  }

  @Configuration
  @EnableRemoteClients(clients = {WithClass.class, WithWaiting.class})
  static class Waiters {}

  @Test
  void aFallbackMayWaitAlsoForFuturesAndCallbacks() {
    Contexts.inMemory()
        .withUserConfiguration(Waiters.class)
        .withBean(Calculator.class)
        .run(
            context -> {
              Forms client = context.getBean(WithWaiting.class);
              assertThat(client.div(5, 0)).isEqualTo(5);
              assertThat(later(client.divAsync(6, 0))).isEqualTo(6);
              assertThat(later(calledBack(client, 7, 0))).isEqualTo(7);
            });
  }

  @RemoteClient(service = "calc", target = "mem:calc")
  @ClientFallback(String.class)
  interface Mistaken {
    long div(long dividend, long divisor);
  }

  @Configuration
  @EnableRemoteClients(clients = Mistaken.class)
  static class Mistakes {}

  @Test
  void aClassThatCannotStandInIsRefusedAtTheStart() {
    Contexts.inMemory()
        .withUserConfiguration(Mistakes.class)
        .run(
            context -> {
              assertThat(context).hasFailed();
              assertThat(Contexts.cause(context.getStartupFailure()))
                  .startsWith(Mistaken.class.getName() + ": its fallback java.lang.String");
            });
  }

  /** A contract that both sides have, and a bean that stands in for it. */
  @RemoteService("shared")
  @RemoteClient(target = "${calc.target}")
  @ClientFallback(Standing.class)
  interface Contract {
    @RemoteMethod
    String name();
  }

  static class Standing implements Contract {
    @Override
    public String name() {
      return "stand-in";
    }
  }

  static class Serving implements Contract {
    @Override
    public String name() {
      return "service";
    }
  }

  @Configuration
  @EnableRemoteClients(clients = Contract.class)
  static class Contracts {}

  @Test
  void oneInterfaceMayBeOfTheServiceAndOfItsClient() {
    ApplicationContextRunner contracts =
        Contexts.inMemory().withUserConfiguration(Contracts.class).withBean(Standing.class);
    contracts.run(
        context -> assertThat(context.getBean(Contract.class).name()).isEqualTo("stand-in"));
    contracts
        .withBean(Serving.class)
        .run(context -> assertThat(context.getBean(Contract.class).name()).isEqualTo("service"));
  }
}
