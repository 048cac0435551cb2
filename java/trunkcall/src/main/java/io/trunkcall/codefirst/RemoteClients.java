package io.trunkcall.codefirst;

import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The clients of annotated interfaces: one client for each target, which all interfaces of that
 * target share. May be used by any thread.
 *
 * <pre>{@code
 * try (RemoteClients clients =
 *     RemoteClients.builder().scan("com.example.shop").target("calc", "localhost:4000").build()) {
 *   Calculator calculator = clients.get(Calculator.class);
 *   …
 * }
 * }</pre>
 */
public final class RemoteClients implements AutoCloseable {
  private final Map<Class<?>, Object> proxies = new HashMap<>();
  private final Map<String, Client> clients = new LinkedHashMap<>(); // by target

  private RemoteClients(Builder builder) {
    Map<String, List<ClientReading>> byTarget = new LinkedHashMap<>();
    for (Class<?> type : builder.types()) {
      ClientReading reading = ClientReading.read(type);
      byTarget.computeIfAbsent(builder.target(type), target -> new ArrayList<>()).add(reading);
    }
    try {
      byTarget.forEach((target, readings) -> add(target, readings, builder.options));
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private void add(
      String target, List<ClientReading> readings, BiConsumer<String, ClientBuilder> options) {
    ClientBuilder builder = Client.builder(target);
    String names =
        readings.stream().map(each -> each.type().getName()).collect(Collectors.joining(", "));
    Set<Policy> policies = new LinkedHashSet<>();
    readings.forEach(each -> policies.addAll(each.policies()));
    policies.forEach(builder::policy);
    options.accept(target, builder);
    Client client;
    try {
      client = builder.build();
    } catch (IllegalArgumentException fault) { // it does not say whose target that is
      throw new IllegalArgumentException(names + ": " + fault.getMessage(), fault);
    }
    clients.put(target, client);
    for (ClientReading each : readings) {
      proxies.put(each.type(), each.proxy(each.type(), client));
    }
  }

  /** A builder of clients. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The object of an interface, always the same.
   *
   * @throws IllegalArgumentException for an interface that was neither given nor found
   */
  public <T> T get(Class<T> type) {
    Object proxy = proxies.get(type);
    if (proxy == null) {
      throw new IllegalArgumentException(type.getName() + " was neither added nor found by a scan");
    }
    return type.cast(proxy);
  }

  /** The clients, by target. */
  public Map<String, Client> clients() {
    return Map.copyOf(clients);
  }

  /** Closes all clients. */
  @Override
  public void close() {
    clients.values().forEach(Client::close);
  }

  /** Collects which interfaces there are to be objects of. Used by one thread. */
  public static final class Builder {
    private final Set<Class<?>> added = new LinkedHashSet<>();
    private final List<String> packages = new ArrayList<>();
    private final Map<String, String> targets = new HashMap<>();
    private UnaryOperator<String> resolved = UnaryOperator.identity();
    private BiConsumer<String, ClientBuilder> options = (target, builder) -> {};

    private Builder() {}

    /** Interfaces with {@link RemoteClient}. */
    public Builder add(Class<?>... interfaces) {
      added.addAll(List.of(interfaces));
      return this;
    }

    /**
     * The interfaces with {@link RemoteClient} of packages and of those below them, which are
     * looked for once, when the clients are built.
     */
    public Builder scan(String... names) {
      packages.addAll(List.of(names));
      return this;
    }

    /** Where a service is found, by its public name; it counts before what an interface says. */
    public Builder target(String service, String target) {
      targets.put(
          Objects.requireNonNull(service, "service"), Objects.requireNonNull(target, "target"));
      return this;
    }

    /** What makes a target of what an interface says: "${calc.target}" by a container, say. */
    public Builder targets(UnaryOperator<String> function) {
      resolved = Objects.requireNonNull(function, "function");
      return this;
    }

    /** What the client of a target is to have besides: TLS, interceptors, a balancer. */
    public Builder client(BiConsumer<String, ClientBuilder> settings) {
      options = options.andThen(Objects.requireNonNull(settings, "settings"));
      return this;
    }

    /**
     * The clients. They connect when they are first called.
     *
     * @throws IllegalArgumentException naming the interface and method that cannot be called, or
     *     the interface that has no target
     */
    public RemoteClients build() {
      return new RemoteClients(this);
    }

    private Set<Class<?>> types() {
      Set<Class<?>> types = new LinkedHashSet<>(added);
      if (!packages.isEmpty()) {
        Scan scan = Scan.of(packages);
        scan.check();
        types.addAll(scan.clients());
      }
      return types;
    }

    private String target(Class<?> type) {
      RemoteClient annotation = type.getAnnotation(RemoteClient.class);
      String service = ClientReading.service(type);
      String given = targets.get(service);
      if (given == null) {
        given = annotation == null ? "" : resolved.apply(annotation.target());
      }
      if (given == null || given.isEmpty()) {
        throw new IllegalArgumentException(
            type.getName()
                + ": it says no target, and none was given for service "
                + service
                + ": want @RemoteClient(target = \"HOST:PORT\") on it, or .target(\""
                + service
                + "\", \"HOST:PORT\") for the clients");
      }
      return given;
    }
  }
}
