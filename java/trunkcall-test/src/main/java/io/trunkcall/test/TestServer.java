package io.trunkcall.test;

import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import io.trunkcall.ServerBuilder;
import io.trunkcall.codefirst.CodeFirst;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * A server and a client of it, with all that lies between them. May be used by any thread.
 *
 * <pre>{@code
 * try (TestServer server = TestServer.inMemory().publish(new Calculator()).start()) {
 *   assertEquals(5, server.client(CalculatorClient.class).add(2, 3));
 * }
 * }</pre>
 *
 * <p>In memory there is no port and no socket. On loopback there is a port that was free, which
 * other programs can call too. {@link TestServerExtension} starts and stops one with JUnit's tests.
 */
public final class TestServer implements AutoCloseable {
  /** The timeout of unary calls, so that a test ends whose answer does not come. */
  public static final Duration TIMEOUT = Duration.ofSeconds(30);

  private static final AtomicLong NAMES = new AtomicLong();

  private final Server server;
  private final Client client;
  private final String target;

  private TestServer(Server server, Client client, String target) {
    this.server = server;
    this.client = client;
    this.target = target;
  }

  /** A builder of a server in memory. */
  public static Builder inMemory() {
    return new Builder(true);
  }

  /** A builder of a server on a free port of 127.0.0.1. */
  public static Builder onLoopback() {
    return new Builder(false);
  }

  /** The server. */
  public Server server() {
    return server;
  }

  /** A client of the server. */
  public Client client() {
    return client;
  }

  /**
   * An object of an interface with {@link io.trunkcall.codefirst.RemoteClient}, which calls the
   * server whatever target it says.
   *
   * @throws IllegalArgumentException naming the class and method that cannot be called
   */
  public <T> T client(Class<T> type) {
    return CodeFirst.client(type, client);
  }

  /** Where the server is: the target of more clients. */
  public String target() {
    return target;
  }

  /** The port, 0 in memory. */
  public int port() {
    return server.port();
  }

  /** Ends both at once: calls that run fail. */
  @Override
  public void close() {
    client.close();
    server.close();
  }

  /** Collects what is to be tested. Used by one thread, and may be started several times. */
  public static final class Builder {
    private final boolean inMemory;
    private Consumer<ServerBuilder> serves = builder -> {};
    private Consumer<ClientBuilder> calls = builder -> builder.timeout(TIMEOUT);

    private Builder(boolean inMemory) {
      this.inMemory = inMemory;
    }

    /** Methods that the server serves. */
    public Builder serve(Handler... handlers) {
      return server(builder -> builder.serve(handlers));
    }

    /**
     * Serves objects of classes with {@link io.trunkcall.codefirst.RemoteService}.
     *
     * @throws IllegalArgumentException naming the class and method that cannot be served
     */
    public Builder publish(Object... services) {
      for (Object service : services) {
        serve(CodeFirst.handlers(service).toArray(Handler[]::new));
      }
      return this;
    }

    /** What the server is to have besides: interceptors, limits, TLS. */
    public Builder server(Consumer<ServerBuilder> settings) {
      serves = serves.andThen(Objects.requireNonNull(settings, "settings"));
      return this;
    }

    /**
     * What the client is to have besides: interceptors, policies, methods that its server calls.
     */
    public Builder client(Consumer<ClientBuilder> settings) {
      calls = calls.andThen(Objects.requireNonNull(settings, "settings"));
      return this;
    }

    /** The server, which listens, and its client, which connects with the first call. */
    public TestServer start() {
      String address = inMemory ? "mem:trunkcall-test-" + NAMES.incrementAndGet() : "127.0.0.1:0";
      ServerBuilder builder = Server.builder();
      serves.accept(builder);
      Server server = builder.build();
      try {
        String target = server.listen(address);
        ClientBuilder client = Client.builder(target);
        calls.accept(client);
        return new TestServer(server, client.build(), target);
      } catch (IOException e) {
        server.close();
        throw new UncheckedIOException(e);
      } catch (RuntimeException e) {
        server.close();
        throw e;
      }
    }
  }
}
