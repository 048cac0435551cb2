package io.trunkcall.spring;

import io.trunkcall.Server;
import io.trunkcall.codefirst.ServiceCentre;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/**
 * The server of an application. It starts when all beans are there, before Spring tells that the
 * application has started, and stops without losing a call.
 *
 * <p>Once it runs the property {@code local.trunkcall.port} has its port. May be used by any
 * thread.
 */
public final class TrunkcallServer implements SmartLifecycle, DisposableBean {
  /** The property of the port: for tests, which listen on port 0. */
  public static final String PORT = "local.trunkcall.port";

  // Of the phase in which Spring's web servers stop serving: started behind what handlers use.
  private static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 1024;

  private final Services services;
  private final Consumer<Server> started;
  private final Duration grace;

  private final ReentrantLock lock = new ReentrantLock(); // of starts and stops
  private volatile @Nullable ServiceCentre centre; // set by the first start that has what to serve
  private volatile @Nullable Server running; // also while it stops

  TrunkcallServer(Services services, ConfigurableEnvironment environment, Duration grace) {
    Netty.check();
    this.services = services;
    this.started = server -> publish(environment, server.port());
    this.grace = grace;
  }

  private static void publish(ConfigurableEnvironment environment, int port) {
    String source = "trunkcall.ports";
    environment.getPropertySources().remove(source);
    if (port > 0) {
      environment.getPropertySources().addFirst(new MapPropertySource(source, Map.of(PORT, port)));
    }
  }

  /**
   * What runs, also while it is being stopped; null before the start, once it has been stopped, and
   * if there is nothing to serve.
   */
  public @Nullable Server server() {
    return running;
  }

  /** The addresses that are listened on. */
  public List<String> addresses() {
    Server server = running;
    return server == null ? List.of() : server.addresses();
  }

  /** The public names of the annotated services, each with those of its methods. */
  public SortedMap<String, List<String>> services() {
    ServiceCentre made = centre;
    return made == null ? new TreeMap<>() : made.services();
  }

  @Override
  public void start() {
    lock.lock();
    try {
      if (isRunning()) {
        return;
      }
      if (centre == null) {
        centre = services.centre();
      }
      if (centre == null) {
        return; // there is nothing to serve
      }
      Server server = centre.start().server();
      running = server;
      if (server != null) {
        started.accept(server);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("trunkcall.server.listen: " + e.getMessage(), e);
    } finally {
      lock.unlock();
    }
  }

  /** Stops without losing a call, within the time that Spring gives. */
  @Override
  public void stop() {
    lock.lock();
    try {
      if (centre != null) {
        centre.stop(grace);
      }
    } finally {
      running = null;
      lock.unlock();
      services.stopped();
    }
  }

  @Override
  public void stop(Runnable callback) {
    Thread stopping =
        new Thread(
            () -> {
              try {
                stop();
              } finally {
                callback.run();
              }
            },
            "trunkcall-stop");
    stopping.start();
  }

  @Override
  public boolean isRunning() {
    return server() != null;
  }

  @Override
  public int getPhase() {
    return PHASE;
  }

  /** Of a context that could not be started. */
  @Override
  public void destroy() {
    if (centre != null) {
      centre.close();
    }
    running = null;
    services.stopped();
  }
}
