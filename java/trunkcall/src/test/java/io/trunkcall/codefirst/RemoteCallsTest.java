package io.trunkcall.codefirst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.CallOptions;
import io.trunkcall.Caller;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.LoopbackCaller;
import io.trunkcall.Method;
import io.trunkcall.Policy;
import io.trunkcall.Response;
import io.trunkcall.StatusException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** An interface calls the methods of an annotated class. */
@SuppressWarnings({"unused", "MethodCanBeStatic"})
class RemoteCallsTest {
  @SeveralResults
  record Division(long quotient, long remainder) {}

  enum Size {
    SMALL,
    LARGE
  }

  record Order(String item, int count, @Nullable Instant due, List<Size> sizes) {}

  @RemoteService("calc")
  static class Calculator {
    @RemoteMethod
    public Division div(long dividend, long divisor) {
      if (divisor == 0) {
        throw new StatusException(Code.INVALID_ARGUMENT, "by zero");
      }
      return new Division(dividend / divisor, dividend % divisor);
    }

    @RemoteMethod
    public CompletableFuture<Long> twice(long number) {
      return CompletableFuture.completedFuture(2 * number);
    }

    @RemoteMethod
    public Map<String, List<Order>> orders(List<Order> orders, Duration within) {
      return Map.of(within.toString(), orders);
    }

    @RemoteMethod
    public void forget(String text) {}

    @RemoteMethod
    public @Nullable String maybe(@Nullable String text) {
      return text;
    }

    @RemoteMethod
    public @Nullable String never() {
      return null;
    }
  }

  @RemoteClient(service = "calc")
  @CallPolicy(timeout = "2s", codec = CallPolicy.CarriedAs.JSON)
  interface Calc {
    Division div(long dividend, long divisor);

    @RemoteMethod("div")
    CompletableFuture<Division> divAsync(long dividend, long divisor);

    @RemoteMethod("div")
    void divide(long dividend, long divisor, CallOptions options, Callback<Division> done);

    @CallPolicy(
        timeout = "500ms",
        repeat = CallPolicy.Choice.NO,
        codec = CallPolicy.CarriedAs.MESSAGE_PACK)
    long twice(long number, CallOptions options);

    Map<String, List<Order>> orders(List<Order> orders, Duration within);

    void forget(String text);

    @Nullable String maybe(@Nullable String text);

    String never();

    default long half(long number) {
      return div(number, 2).quotient();
    }
  }

  private final LoopbackCaller caller = new LoopbackCaller(CodeFirst.handlers(new Calculator()));
  private final Calc calc = CodeFirst.client(Calc.class, caller);

  @Test
  void aCallWaitsForItsResults() {
    assertEquals(new Division(3, 1), calc.div(7, 2));
    assertEquals(List.of(2), caller.codecs);
    assertEquals(3, calc.half(6));
    Map<String, List<Order>> orders =
        calc.orders(
            List.of(new Order("x", 1, Instant.EPOCH, List.of(Size.LARGE))), Duration.ofSeconds(1));
    assertEquals(
        Map.of("PT1S", List.of(new Order("x", 1, Instant.EPOCH, List.of(Size.LARGE)))), orders);
    calc.forget("x");
    assertNull(calc.maybe(null));
    assertEquals("y", calc.maybe("y"));
  }

  @Test
  void aFutureBringsTheResultsOrTheFailure() throws Exception {
    assertEquals(new Division(3, 1), calc.divAsync(7, 2).get());
    ExecutionException failed =
        assertThrows(ExecutionException.class, () -> calc.divAsync(7, 0).get());
    assertEquals(
        Code.INVALID_ARGUMENT, assertInstanceOf(StatusException.class, failed.getCause()).code());
  }

  @Test
  void aCallbackTakesTheResultsOrTheFailure() {
    AtomicReference<Division> result = new AtomicReference<>();
    AtomicReference<StatusException> failure = new AtomicReference<>();
    Callback<Division> done =
        (division, error) -> {
          result.set(division);
          failure.set(error);
        };
    calc.divide(7, 2, CallOptions.NONE, done);
    assertEquals(new Division(3, 1), result.get());
    assertNull(failure.get());
    calc.divide(7, 0, CallOptions.NONE, done);
    assertNull(result.get());
    assertEquals(Code.INVALID_ARGUMENT, failure.get().code());
  }

  @Test
  void theMethodsPolicyCountsBeforeTheInterfaces() {
    assertEquals(8, calc.twice(4, CallOptions.NONE));
    calc.div(1, 1);
    calc.twice(4, CallOptions.NONE.withTimeout(Duration.ofSeconds(7)));
    calc.twice(4, CallOptions.NONE.withoutTimeout());
    assertEquals(List.of(3, 2, 3, 3), caller.codecs);
    assertEquals(Duration.ofMillis(500), caller.options.get(0).timeout());
    assertEquals(Duration.ofSeconds(2), caller.options.get(1).timeout());
    assertEquals(Duration.ofSeconds(7), caller.options.get(2).timeout());
    assertNull(caller.options.get(3).timeout());
    assertEquals(
        List.of(Policy.forMethod("/calc/twice").repeat(false).build()),
        CodeFirst.policies(Calc.class));
  }

  @Test
  void whatAConfigurationSaysCountsBeforeTheInterface() {
    Policy[] said = {
      Policy.forAll().timeout(Duration.ofSeconds(9)).waitForReady(true).build(),
      Policy.forMethod("/calc/twice").timeout(Duration.ofSeconds(5)).repeat(true).build(),
      Policy.forService("calc").timeout(Duration.ofSeconds(4)).build(),
      Policy.forService("calculator").timeout(Duration.ofSeconds(1)).build()
    };
    Calc configured = CodeFirst.client(Calc.class, caller, said);
    configured.div(1, 1);
    configured.twice(4, CallOptions.NONE);
    configured.twice(4, CallOptions.NONE.withTimeout(Duration.ofSeconds(7)));
    assertEquals(Duration.ofSeconds(4), caller.options.get(0).timeout());
    assertEquals(Duration.ofSeconds(5), caller.options.get(1).timeout());
    assertEquals(Duration.ofSeconds(7), caller.options.get(2).timeout());
    assertEquals(true, caller.options.get(1).waitForReady());
    assertEquals(
        List.of(Policy.forMethod("/calc/twice").repeat(true).build()),
        CodeFirst.policies(Calc.class, said));
  }

  @Test
  void aResultThatIsNotOptionalIsNotNull() {
    StatusException failed = assertThrows(StatusException.class, calc::never);
    assertEquals(Code.INTERNAL, failed.code());
    assertEquals("result 1 of /calc/never: want text, got null", failed.status().message());
  }

  @Test
  void anArgumentThatCannotBeWrittenIsNamed() {
    StatusException failed = assertThrows(StatusException.class, () -> calc.forget(null));
    assertEquals(Code.INVALID_ARGUMENT, failed.code());
    assertEquals("parameter 1 of /calc/forget: want text, got null", failed.status().message());
  }

  @Test
  void theProxyIsAnOrdinaryObject() {
    assertEquals(calc, calc);
    assertNotEquals(calc, CodeFirst.client(Calc.class, caller));
    assertEquals("client of calc", calc.toString());
    assertEquals(calc.hashCode(), calc.hashCode());
  }

  @RemoteClient(service = "calc")
  interface OfOtherTypes {
    Division div(int dividend, long divisor);

    long twice(String number);
  }

  @RemoteClient(service = "calc")
  interface OfOneResult {
    long div(long dividend, long divisor);
  }

  @Test
  void otherTypesThanTheServersAreToldOf() {
    OfOtherTypes other = CodeFirst.client(OfOtherTypes.class, caller);
    assertEquals(new Division(3, 1), other.div(7, 2)); // what fits is taken
    StatusException failed = assertThrows(StatusException.class, () -> other.twice("x"));
    assertEquals(Code.INVALID_ARGUMENT, failed.code());
    assertTrue(failed.status().message().startsWith("parameter 1 of /calc/twice: want a whole"));
    OfOneResult one = CodeFirst.client(OfOneResult.class, caller);
    failed = assertThrows(StatusException.class, () -> one.div(7, 2));
    assertEquals(Code.INTERNAL, failed.code());
    assertTrue(failed.status().message().startsWith("/calc/div: want 1 result, got 2"));
  }

  @RemoteClient(service = "calc")
  interface OfNothing {
    void multiply(long a, long b);
  }

  static Stream<Object[]> unlike() {
    return Stream.of(
        new Object[] {
          OfOtherTypes.class,
          "OfOtherTypes.twice: parameter 1: text, but there it is a whole number"
        },
        new Object[] {OfOneResult.class, "OfOneResult.div: 1 result, but there it is 2"},
        new Object[] {
          OfNothing.class,
          "OfNothing.multiply: " + Calculator.class.getName() + " does not serve /calc/multiply"
        });
  }

  @ParameterizedTest
  @MethodSource("unlike")
  void anInterfaceIsCheckedAgainstTheClassThatItCalls(Class<?> type, String message) {
    CodeFirst.check(Calc.class, Calculator.class);
    Exception refused =
        assertThrows(IllegalArgumentException.class, () -> CodeFirst.check(type, Calculator.class));
    assertTrue(refused.getMessage().contains(message), refused.getMessage());
  }

  @Test
  void cancellingAFutureCancelsItsCall() {
    CompletableFuture<Response<Results>> call = new CompletableFuture<>();
    Calc pending = CodeFirst.client(Calc.class, new Pending(call));
    CompletableFuture<Division> future = pending.divAsync(7, 2);
    future.cancel(true);
    assertTrue(call.isCancelled());
  }

  /** A caller whose calls do not end. */
  private record Pending(CompletableFuture<Response<Results>> call) implements Caller {
    @Override
    @SuppressWarnings("unchecked")
    public <Q, R> CompletableFuture<Response<R>> unary(
        Method<Q, R> method, Q request, CallOptions options) {
      return (CompletableFuture<Response<R>>) (CompletableFuture<?>) call;
    }

    @Override
    public <Q, R> ClientStream<Q, R> stream(
        Method<Q, R> method, @Nullable Q request, CallOptions options) {
      throw new UnsupportedOperationException("streams");
    }
  }

  interface Plain {
    void call();
  }

  @RemoteClient
  abstract static class NoInterface {}

  @RemoteClient
  interface Empty {}

  @RemoteClient
  interface Disagrees {
    long add(long a, long b);

    @RemoteMethod("add")
    CompletableFuture<Long> addLater(long a, int b);
  }

  @RemoteClient
  interface DisagreesInResults {
    long add(long a, long b);

    @RemoteMethod("add")
    void added(long a, long b, Callback<String> done);
  }

  @RemoteClient
  interface CallbackAndResult {
    long add(long a, Callback<Long> done);
  }

  @RemoteClient
  interface RawFuture {
    @SuppressWarnings("rawtypes")
    CompletableFuture add(long a);
  }

  @RemoteClient
  interface BadTimeout {
    @CallPolicy(timeout = "soon")
    void call();
  }

  @RemoteClient
  interface NoTimeout {
    @CallPolicy(timeout = "0s")
    void call();
  }

  @RemoteClient
  interface Unsupported {
    void call(int a, Thread b);
  }

  static Stream<Object[]> bad() {
    return Stream.of(
        new Object[] {Plain.class, "Plain has neither @RemoteClient nor @RemoteService"},
        new Object[] {NoInterface.class, "NoInterface is no interface, but a class: want"},
        new Object[] {Empty.class, "Empty has no methods to call"},
        new Object[] {
          Disagrees.class,
          "Disagrees.addLater: it calls /disagrees/add as (long, int) -> long, but add as (long, long) -> long"
        },
        new Object[] {
          DisagreesInResults.class, "DisagreesInResults.added: it calls /disagreesInResults/add as"
        },
        new Object[] {
          CallbackAndResult.class,
          "CallbackAndResult.add: it has a callback, and so has to return nothing"
        },
        new Object[] {RawFuture.class, "RawFuture.add: "},
        new Object[] {BadTimeout.class, "BadTimeout.call: timeout \"soon\": want a number and"},
        new Object[] {NoTimeout.class, "NoTimeout.call: timeout \"0s\": want more than 0"},
        new Object[] {
          Unsupported.class,
          "Unsupported.call: parameter 2: values of type java.lang.Thread cannot be carried"
        });
  }

  @ParameterizedTest
  @MethodSource("bad")
  void badInterfacesAreRefusedByClassAndMethod(Class<?> type, String message) {
    Exception refused =
        assertThrows(IllegalArgumentException.class, () -> CodeFirst.client(type, caller));
    assertTrue(refused.getMessage().contains(message), refused.getMessage());
  }
}
