package io.trunkcall.spring;

import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.ClientInterceptor;
import io.trunkcall.Policy;
import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteClient;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.ssl.SslBundles;

/**
 * The clients of an application. Interfaces share one that have the same target, and of which the
 * same is said of their connections. May be used by any thread.
 *
 * <p>They connect with their first calls, and are closed when the application's server has been
 * stopped.
 */
public final class TrunkcallClients implements DisposableBean {
  private final ConfigurableListableBeanFactory beans;
  private final ClientsProperties properties;
  private final ExecutorService fallbacks; // runs those of futures and callbacks

  // Not changed once this is made.
  private final Map<Class<?>, Object> proxies = new HashMap<>();
  private final Map<String, Client> clients = new LinkedHashMap<>(); // by name

  /** An interface, the service that it calls, and what is said of that. */
  private record Wanted(Class<?> type, String service, ClientSettings settings) {
    Policy[] policies() {
      return settings.policies("/" + service + "/").toArray(Policy[]::new);
    }
  }

  TrunkcallClients(
      ConfigurableListableBeanFactory beans,
      ClientsProperties properties,
      ExecutorService fallbacks) {
    Netty.check();
    this.beans = beans;
    this.properties = properties;
    this.fallbacks = fallbacks;
    Map<ClientSettings, List<Wanted>> shared = new LinkedHashMap<>();
    for (Class<?> type : ClientDefinitions.types(beans)) {
      Wanted wanted = wanted(type);
      shared.computeIfAbsent(wanted.settings.ofConnections(), key -> new ArrayList<>()).add(wanted);
    }
    try {
      shared.forEach(this::open);
      properties.clients().forEach(this::open);
    } catch (RuntimeException e) {
      destroy();
      throw e;
    }
  }

  /**
   * The object of an interface, always the same: what is injected.
   *
   * @throws IllegalArgumentException for an interface that {@link EnableRemoteClients} has not
   *     found
   */
  public <T> T get(Class<T> type) {
    Object proxy = proxies.get(type);
    if (proxy == null) {
      throw new IllegalArgumentException(
          type.getName() + ": @EnableRemoteClients neither names it nor looks in its package");
    }
    return type.cast(proxy);
  }

  /**
   * The client of a name below {@code trunkcall.clients} that has a target, for methods of messages
   * and generated stubs; or that of an interface, by the name of its service.
   *
   * @throws IllegalArgumentException for a name that is not there
   */
  public Client client(String name) {
    Client client = clients.get(name);
    if (client == null) {
      throw new IllegalArgumentException(
          "there is no client " + name + ": set trunkcall.clients." + name + ".target");
    }
    return client;
  }

  /** All clients, each once. */
  public Collection<Client> all() {
    return new LinkedHashSet<>(clients.values());
  }

  /** Closes all clients. Fallbacks that have begun end by themselves. */
  @Override
  public void destroy() {
    all().forEach(Client::close);
    fallbacks.shutdown();
  }

  /** Reads what is said of an interface. */
  private Wanted wanted(Class<?> type) {
    String service = CodeFirst.service(type);
    ClientSettings own = properties.of(service);
    RemoteClient annotation = type.getAnnotation(RemoteClient.class);
    String said = own.target() == null ? "" : own.target();
    if (said.isEmpty() && annotation != null) {
      said = resolved(type, annotation.target());
    }
    if (said.isEmpty()) {
      said = properties.usualTarget();
    }
    if (said.isEmpty()) {
      throw new IllegalArgumentException(
          type.getName()
              + ": it says no target, and trunkcall.clients."
              + service
              + ".target is not set");
    }
    return new Wanted(type, service, own.withTarget(said));
  }

  private String resolved(Class<?> type, String target) {
    try {
      String resolved = beans.resolveEmbeddedValue(target);
      return resolved == null ? "" : resolved.strip();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          type.getName() + ": target \"" + target + "\": " + e.getMessage(), e);
    }
  }

  /** Makes the client of some interfaces, and their objects. */
  private void open(ClientSettings settings, List<Wanted> all) {
    Set<Policy> policies = new LinkedHashSet<>();
    all.forEach(each -> policies.addAll(CodeFirst.policies(each.type, each.policies())));
    Client client = client(all.get(0).type.getName(), settings, policies);
    for (Wanted each : all) {
      clients.put(each.service, client);
      proxies.put(each.type, proxy(each.type, client, each.policies()));
    }
  }

  private <T> T proxy(Class<T> type, Client client, Policy[] policies) {
    return Fallback.around(CodeFirst.client(type, client, policies), type, beans, fallbacks);
  }

  /** Makes the client of a name that is that of no interface's service. */
  private void open(String name, ClientSettings own) {
    boolean known = clients.keySet().stream().anyMatch(each -> ClientsProperties.names(name, each));
    if (known || name.equals(ClientsProperties.DEFAULT)) {
      return;
    }
    ClientSettings settings = properties.of(name);
    if (own.target() == null) {
      throw new IllegalArgumentException(
          "trunkcall.clients."
              + name
              + ": it has no target, and no interface that @EnableRemoteClients has found calls a"
              + " service of that name; those found call "
              + (clients.isEmpty() ? "none" : String.join(", ", clients.keySet())));
    }
    clients.put(name, client("trunkcall.clients." + name, settings, settings.policies("")));
  }

  private Client client(String of, ClientSettings settings, Collection<Policy> policies) {
    String target = String.valueOf(settings.target());
    try {
      ClientBuilder builder = Client.builder(target);
      policies.forEach(builder::policy);
      settings.apply(builder, beans.getBeanProvider(SslBundles.class).getIfAvailable());
      beans
          .getBeanProvider(ClientInterceptor.class)
          .orderedStream()
          .forEach(builder::clientInterceptor);
      beans
          .getBeanProvider(ClientCustomizer.class)
          .orderedStream()
          .forEach(each -> each.customize(target, builder));
      return builder.build();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(of + ": " + e.getMessage(), e);
    }
  }
}
