package io.trunkcall.codefirst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Handler;
import io.trunkcall.ServerCall;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What an annotated class serves, and what is refused when it is published. */
@SuppressWarnings({"unused", "MethodCanBeStatic"})
class ServiceReadingTest {
  private static Set<String> served(Object service) {
    Set<String> names = new TreeSet<>();
    for (Handler each : CodeFirst.handlers(service)) {
      names.add(each.method().name());
    }
    return names;
  }

  @RemoteService("calc")
  static class Calculator {
    @RemoteMethod
    public long addAll(ServerCall call, long... all) {
      return 0;
    }

    @RemoteMethod("sub")
    public long minus(long a, long b) {
      return a - b;
    }

    public long secret() {
      return 42;
    }
  }

  static class Careful extends Calculator {
    @Override
    public long minus(long a, long b) {
      return 0;
    }
  }

  static class Adds extends Calculator {
    @RemoteMethod
    public long more() {
      return 1;
    }
  }

  @RemoteService
  static class OwnName extends Calculator {}

  @RemoteService
  interface GreetingService {
    @RemoteMethod
    String greet(String name);

    String inside();
  }

  static class Greeter implements GreetingService {
    @Override
    public String greet(String name) {
      return "hello " + name;
    }

    @Override
    public String inside() {
      return "";
    }
  }

  @Test
  void onlyAnnotatedMethodsAreServedAndOnlyByTheirPublicNames() {
    assertEquals(Set.of("/calc/addAll", "/calc/sub"), served(new Calculator()));
    assertEquals(Set.of("/greetingService/greet"), served(new Greeter()));
    assertEquals(Set.of("/ownName/addAll", "/ownName/sub"), served(new OwnName()));
  }

  @Test
  void aSubclassServesWhatItsAnnotatedSuperclassSays() {
    assertEquals(Set.of("/calc/addAll", "/calc/sub"), served(new Careful()));
  }

  @RemoteService
  static class Overrides extends Calculator {
    @Override
    public long minus(long a, long b) {
      return 0;
    }
  }

  @Test
  void anOverridingMethodThatIsNotAnnotatedIsNotServed() {
    assertEquals(Set.of("/overrides/addAll"), served(new Overrides()));
  }

  static class Plain {
    @RemoteMethod
    public void call() {}
  }

  @RemoteService
  static class Empty {
    public void call() {}
  }

  @RemoteService
  static class TwoOfOneName {
    @RemoteMethod
    public void getURL() {}

    @RemoteMethod
    public void get_url() {}
  }

  @RemoteService
  static class Overloaded {
    @RemoteMethod
    public void call(int a) {}

    @RemoteMethod
    public void call(String a) {}
  }

  @RemoteService
  static class NotPublic {
    @RemoteMethod
    void call() {}
  }

  @RemoteService
  static class Private {
    @RemoteMethod
    private void call() {}
  }

  @RemoteService
  static class Static {
    @RemoteMethod
    public static void call() {}
  }

  @RemoteService("a/b")
  static class Slash {
    @RemoteMethod
    public void call() {}
  }

  @RemoteService
  static class MethodSlash {
    @RemoteMethod("a/b")
    public void call() {}
  }

  @RemoteService
  static class Unsupported {
    @RemoteMethod
    public void call(int a, Thread b) {}
  }

  @RemoteService
  static class UnsupportedResult {
    @RemoteMethod
    public Thread call() {
      return Thread.currentThread();
    }
  }

  static Stream<Object[]> bad() {
    return Stream.of(
        new Object[] {new Plain(), "Plain: neither it nor an interface of it has @RemoteService"},
        new Object[] {new Adds(), "Adds.more: it has @RemoteMethod, but is not served"},
        new Object[] {new Empty(), "Empty: none of its methods has @RemoteMethod"},
        new Object[] {new TwoOfOneName(), "its public name getUrl is that of"},
        new Object[] {new Overloaded(), "Overloaded.call: its public name call is that of"},
        new Object[] {new NotPublic(), "NotPublic.call: it has @RemoteMethod, but is not"},
        new Object[] {new Private(), "Private.call: it has @RemoteMethod, but is not"},
        new Object[] {new Static(), "Static.call: it has @RemoteMethod, but is not"},
        new Object[] {new Slash(), "Slash: service \"a/b\": want a name without a slash"},
        new Object[] {new MethodSlash(), "MethodSlash.call: method \"a/b\": want a name"},
        new Object[] {
          new Unsupported(),
          "Unsupported.call: parameter 2: values of type java.lang.Thread cannot be carried"
        },
        new Object[] {
          new UnsupportedResult(),
          "UnsupportedResult.call: its result: values of type java.lang.Thread cannot"
        });
  }

  @ParameterizedTest
  @MethodSource("bad")
  void badServicesAreRefusedByClassAndMethod(Object service, String message) {
    Exception refused =
        assertThrows(IllegalArgumentException.class, () -> CodeFirst.handlers(service));
    assertTrue(refused.getMessage().contains(message), refused.getMessage());
  }
}
