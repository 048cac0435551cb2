package io.trunkcall.codefirst;

import io.trunkcall.Handler;
import io.trunkcall.Server;
import io.trunkcall.ServerBuilder;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Publishes annotated services, and starts and stops a server of them. May be used by any thread.
 *
 * <pre>{@code
 * try (ServiceCentre centre =
 *     ServiceCentre.builder().listen("0.0.0.0:4000").scan("com.example.shop").build()) {
 *   centre.start();
 *   centre.services(); // {calc=[add, div]}
 *   centre.ports(); // [4000]
 *   …
 * }
 * }</pre>
 */
public final class ServiceCentre implements AutoCloseable {
  private final List<String> addresses;
  private final Consumer<ServerBuilder> options;

  private final ReentrantLock lock = new ReentrantLock(); // nothing waits under it but listening
  private final Map<String, Published> methods = new LinkedHashMap<>(); // guarded by lock
  private @Nullable Server server; // guarded by lock

  private record Published(Handler handler, Class<?> by) {}

  private ServiceCentre(Builder builder) {
    addresses = List.copyOf(builder.addresses);
    options = builder.options;
    List<Object> services = new ArrayList<>(builder.services);
    if (!builder.packages.isEmpty()) {
      for (Class<?> each : Scan.of(builder.packages).services()) {
        services.add(builder.instance(each));
      }
    }
    publish(services.toArray());
  }

  /** A builder of a centre. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Publishes objects of classes with {@link RemoteService}, also while the server runs.
   *
   * @throws IllegalArgumentException naming the class and method that cannot be served; then none
   *     of these objects is published
   */
  public void publish(Object... services) {
    Map<String, Published> added = new LinkedHashMap<>();
    lock.lock();
    try {
      for (Object service : services) {
        for (Handler handler : CodeFirst.handlers(service)) {
          String name = handler.method().name();
          Published known = methods.getOrDefault(name, added.get(name));
          if (known != null) {
            throw new IllegalArgumentException(
                service.getClass().getName()
                    + ": "
                    + name
                    + " is published by "
                    + known.by().getName()
                    + " already");
          }
          added.put(name, new Published(handler, service.getClass()));
        }
      }
      if (server != null) {
        server.register(handlers(added));
      }
      methods.putAll(added);
    } finally {
      lock.unlock();
    }
  }

  private static Handler[] handlers(Map<String, Published> methods) {
    return methods.values().stream().map(Published::handler).toArray(Handler[]::new);
  }

  /**
   * Listens and serves. Does not wait.
   *
   * @throws IOException where it cannot listen
   * @throws IllegalStateException if it has been started, and not stopped
   */
  public ServiceCentre start() throws IOException {
    lock.lock();
    try {
      if (server != null) {
        throw new IllegalStateException("the centre has been started");
      }
      ServerBuilder builder = Server.builder();
      options.accept(builder);
      Server made =
          builder.listen(addresses.toArray(String[]::new)).serve(handlers(methods)).build();
      try {
        made.start();
      } catch (IOException | RuntimeException e) {
        made.close();
        throw e;
      }
      server = made;
      return this;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Stops without losing a call ({@link Server#stop()}), after which it can be started again. True:
   * nothing was cut off.
   */
  public boolean stop() {
    return end(Server::stop);
  }

  /** The same with a grace of one's own ({@link Server#stop(Duration)}). */
  public boolean stop(Duration grace) {
    return end(running -> running.stop(grace));
  }

  /** Stops at once: running calls are cut off. */
  @Override
  public void close() {
    end(
        running -> {
          running.close();
          return true;
        });
  }

  /** The server is forgotten once it has ended: it refuses to, on an event loop for instance. */
  private boolean end(Predicate<Server> how) {
    Server running = server();
    if (running == null) {
      return true;
    }
    boolean all = how.test(running);
    lock.lock();
    try {
      if (server == running) {
        server = null;
      }
    } finally {
      lock.unlock();
    }
    return all;
  }

  /** The server that runs; null before the start and once it is stopped. */
  public @Nullable Server server() {
    lock.lock();
    try {
      return server;
    } finally {
      lock.unlock();
    }
  }

  /**
   * The public names of the services that are published, each with those of its methods, sorted.
   */
  public SortedMap<String, List<String>> services() {
    SortedMap<String, List<String>> services = new TreeMap<>();
    lock.lock();
    try {
      for (Published each : methods.values()) {
        io.trunkcall.Method<?, ?> method = each.handler().method();
        services
            .computeIfAbsent(method.service(), service -> new ArrayList<>())
            .add(method.name().substring(method.service().length() + 2));
      }
    } finally {
      lock.unlock();
    }
    services.values().forEach(names -> names.sort(null));
    return services;
  }

  /** The addresses that are listened on; none unless it runs. */
  public List<String> addresses() {
    Server running = server();
    return running == null ? List.of() : running.addresses();
  }

  /** The ports of those addresses that have one. */
  public List<Integer> ports() {
    return addresses().stream()
        .map(each -> each.substring(each.lastIndexOf(':') + 1))
        .filter(each -> each.matches("\\d+"))
        .map(Integer::valueOf)
        .toList();
  }

  /** Collects what a centre is to be. Used by one thread. */
  public static final class Builder {
    private final List<String> addresses = new ArrayList<>();
    private final List<Object> services = new ArrayList<>();
    private final List<String> packages = new ArrayList<>();
    private Consumer<ServerBuilder> options = builder -> {};
    private Function<Class<?>, ?> instances = Builder::make;

    private Builder() {}

    /** Where it listens, as {@link ServerBuilder#listen} has it. */
    public Builder listen(String... where) {
      addresses.addAll(List.of(where));
      return this;
    }

    /** Publishes objects of classes with {@link RemoteService}. */
    public Builder publish(Object... objects) {
      services.addAll(List.of(objects));
      return this;
    }

    /**
     * Publishes the annotated classes of packages and of those below them, which are looked for
     * once, when the centre is built.
     */
    public Builder scan(String... names) {
      packages.addAll(List.of(names));
      return this;
    }

    /**
     * What makes the objects of classes that {@link #scan} finds: a container's function. Unless it
     * is given, their constructor without parameters does.
     */
    public Builder instances(Function<Class<?>, ?> function) {
      instances = Objects.requireNonNull(function, "function");
      return this;
    }

    /** What the server is to have besides: TLS, interceptors, limits. Called at each start. */
    public Builder server(Consumer<ServerBuilder> settings) {
      options = options.andThen(Objects.requireNonNull(settings, "settings"));
      return this;
    }

    /**
     * The centre, which does not listen yet.
     *
     * @throws IllegalArgumentException naming the class and method that cannot be served
     */
    public ServiceCentre build() {
      return new ServiceCentre(this);
    }

    private Object instance(Class<?> type) {
      Object made = instances.apply(type);
      if (!type.isInstance(made)) {
        throw new IllegalArgumentException(type.getName() + ": no object of it was made");
      }
      return made;
    }

    private static Object make(Class<?> type) {
      try {
        Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        return constructor.newInstance();
      } catch (NoSuchMethodException e) {
        throw new IllegalArgumentException(
            type.getName() + " has no constructor without parameters: give instances", e);
      } catch (InvocationTargetException e) {
        throw new IllegalArgumentException(
            type.getName() + ": its constructor failed: " + e.getCause(), e);
      } catch (ReflectiveOperationException | RuntimeException e) {
        throw new IllegalArgumentException(type.getName() + ": no object of it can be made", e);
      }
    }
  }
}
