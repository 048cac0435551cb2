package io.trunkcall.test;

import io.trunkcall.Caller;
import io.trunkcall.Client;
import io.trunkcall.Server;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteService;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A {@link TestServer} for JUnit 5. In a static field it is there for all tests of the class and of
 * those nested in it, in another for each test anew.
 *
 * <pre>{@code
 * @RegisterExtension
 * static final TestServerExtension SERVER =
 *     TestServerExtension.of(TestServer.onLoopback().publish(new Calculator()));
 *
 * @Test
 * void adds(CalculatorClient calculator) {
 *   assertEquals(5, calculator.add(2, 3));
 * }
 * }</pre>
 *
 * <p>Test methods may take a {@link TestServer}, {@link Server}, {@link Client} or {@link Caller},
 * and interfaces with {@link RemoteClient}.
 */
public final class TestServerExtension
    implements BeforeAllCallback,
        AfterAllCallback,
        BeforeEachCallback,
        AfterEachCallback,
        ParameterResolver {
  private final TestServer.Builder builder;

  // JUnit orders what it calls.
  private @Nullable TestServer server;
  private String startedFor = "";

  private TestServerExtension(TestServer.Builder builder) {
    this.builder = builder;
  }

  /** An extension that starts what the builder says. */
  public static TestServerExtension of(TestServer.Builder builder) {
    return new TestServerExtension(Objects.requireNonNull(builder, "builder"));
  }

  /**
   * What was started.
   *
   * @throws IllegalStateException outside of tests, or where {@code @RegisterExtension} is missing
   */
  public TestServer server() {
    if (server == null) {
      throw new IllegalStateException(
          "the server has not been started: want the extension in a field with @RegisterExtension");
    }
    return server;
  }

  /** A client of the server. */
  public Client client() {
    return server().client();
  }

  /** See {@link TestServer#client(Class)}. */
  public <T> T client(Class<T> type) {
    return server().client(type);
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    start(context);
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    start(context);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    stop(context);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    stop(context);
  }

  private void start(ExtensionContext context) {
    if (server == null) {
      server = builder.start();
      startedFor = context.getUniqueId();
    }
  }

  private void stop(ExtensionContext context) {
    if (server != null && startedFor.equals(context.getUniqueId())) {
      server.close();
      server = null;
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == TestServer.class
        || type == Server.class
        || type == Client.class
        || type == Caller.class
        || (type.isInterface()
            && (type.isAnnotationPresent(RemoteClient.class)
                || type.isAnnotationPresent(RemoteService.class)));
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    TestServer there = server();
    if (type == TestServer.class) {
      return there;
    }
    if (type == Server.class) {
      return there.server();
    }
    return type.isInstance(there.client()) ? there.client() : there.client(type);
  }
}
