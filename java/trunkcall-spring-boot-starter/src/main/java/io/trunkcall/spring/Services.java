package io.trunkcall.spring;

import static io.trunkcall.spring.Property.give;

import io.trunkcall.Admission;
import io.trunkcall.Handler;
import io.trunkcall.ServerBuilder;
import io.trunkcall.ServerInterceptor;
import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteService;
import io.trunkcall.codefirst.ServiceCentre;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.util.ClassUtils;

/** What there is to serve among the beans of an application, and how. */
final class Services {
  private static final Duration KEEPALIVE = Duration.ofSeconds(60);
  private static final String GRPC = "io.trunkcall.grpc.GrpcServices"; // of trunkcall-grpc

  private final ConfigurableListableBeanFactory beans;
  private final ServerProperties properties;
  private final boolean virtualThreads;

  private volatile @Nullable ExecutorService threads; // of the server that runs

  Services(
      ConfigurableListableBeanFactory beans, ServerProperties properties, boolean virtualThreads) {
    this.beans = beans;
    this.properties = properties;
    this.virtualThreads = virtualThreads;
  }

  /**
   * All services in one; null if there are none.
   *
   * @throws IllegalArgumentException naming the class and method that cannot be served, or the
   *     interface of a client that does not match a service of this application
   */
  @Nullable ServiceCentre centre() {
    List<Object> services = annotated();
    List<Handler> handlers =
        new ArrayList<>(beans.getBeanProvider(Handler.class).orderedStream().toList());
    if (ClassUtils.isPresent(GRPC, beans.getBeanClassLoader())) {
      handlers.addAll(GrpcBeans.handlers(beans));
    }
    if (services.isEmpty() && handlers.isEmpty()) {
      return null;
    }
    ServiceCentre centre =
        ServiceCentre.builder()
            .listen(properties.listen().toArray(String[]::new))
            .publish(services.toArray())
            .server(builder -> setUp(builder.serve(handlers.toArray(Handler[]::new))))
            .build();
    services.forEach(this::check);
    return centre;
  }

  /** Beans with {@link RemoteService}, but not what calls such a service or stands in for it. */
  private List<Object> annotated() {
    List<Object> found = new ArrayList<>();
    List<Class<?>> fallbacks = ClientDefinitions.fallbacks(beans);
    for (String name : beans.getBeanNamesForAnnotation(RemoteService.class)) {
      if (ScopedProxyUtils.isScopedTarget(name) || ClientDefinitions.isClient(beans, name)) {
        continue;
      }
      Object bean = beans.getBean(name);
      Class<?> type = AopUtils.getTargetClass(bean);
      if (fallbacks.stream().noneMatch(each -> each.isAssignableFrom(type))) {
        found.add(published(name, type, bean));
      }
    }
    return found;
  }

  /** A bean behind a proxy of interfaces alone does not show its annotations. */
  private static Object published(String name, Class<?> type, Object bean) {
    if (AopUtils.isJdkDynamicProxy(bean)) {
      boolean shown =
          java.util.Arrays.stream(bean.getClass().getInterfaces())
              .anyMatch(each -> each.isAnnotationPresent(RemoteService.class));
      if (!shown) {
        throw new IllegalArgumentException(
            type.getName()
                + ": bean "
                + name
                + " stands behind a proxy of its interfaces, none of which has @RemoteService:"
                + " annotate one of them, or set spring.aop.proxy-target-class to true");
      }
    }
    return bean;
  }

  /** Checks the interfaces of clients against the service that they call, where it is here. */
  private void check(Object service) {
    Class<?> type = AopUtils.getTargetClass(service);
    RemoteService annotation = type.getAnnotation(RemoteService.class);
    if (annotation == null) {
      return; // an interface of it has it, by which the compiler has checked both
    }
    for (Class<?> client : ClientDefinitions.types(beans)) {
      if (CodeFirst.service(client).equals(annotation.value())) {
        CodeFirst.check(client, type);
      }
    }
  }

  private void setUp(ServerBuilder builder) {
    try {
      apply(builder);
    } catch (Property.Wrong e) {
      throw new IllegalArgumentException("trunkcall.server." + e.getMessage(), e);
    } catch (IllegalArgumentException | UnsupportedOperationException e) {
      throw new IllegalArgumentException("trunkcall.server: " + e.getMessage(), e);
    }
    beans
        .getBeanProvider(ServerInterceptor.class)
        .orderedStream()
        .forEach(builder::serverInterceptor);
    beans.getBeanProvider(Admission.class).ifAvailable(builder::admission);
    beans
        .getBeanProvider(ServerCustomizer.class)
        .orderedStream()
        .forEach(each -> each.customize(builder));
  }

  private void apply(ServerBuilder builder) {
    give(
        "tls",
        properties.tls(),
        tls -> builder.tls(tls.tls(beans.getBeanProvider(SslBundles.class).getIfAvailable())));
    give("allow-cleartext", properties.allowCleartext(), builder::allowCleartext);
    give("limits", properties.limits(), limits -> builder.limits(limits.limits()));
    give("memory", properties.memory(), memory -> builder.memory(memory.toBytes()));
    give("running-handlers", properties.runningHandlers(), builder::runningHandlers);
    threads(builder);
    give("keepalive", properties.keepalive(), keepalive -> keepalive.apply(builder, KEEPALIVE));
    give("max-connection-age", properties.maxConnectionAge(), builder::maxConnectionAge);
    give("drain-delay", properties.drainDelay(), builder::drainDelay);
    if (!properties.compression().isEmpty()) {
      give(
          "compression",
          properties.compression(),
          order -> builder.compression(CompressedBy.inOrder(order)));
    }
    give("max-connections", properties.maxConnections(), builder::maxConnections);
    give(
        "max-connections-per-address",
        properties.maxConnectionsPerAddress(),
        builder::maxConnectionsPerAddress);
    if (properties.proxyProtocol()) {
      builder.proxyProtocol();
    }
    if (properties.strictJson()) {
      builder.strictJson();
    }
    if (properties.nativeOnly()) {
      builder.nativeOnly();
    }
    give(
        "origins",
        properties.origins(),
        origins -> builder.origins(origins.toArray(String[]::new)));
  }

  private void threads(ServerBuilder builder) {
    Integer count = properties.handlerThreads();
    if (count != null && Boolean.TRUE.equals(properties.virtualThreads())) {
      throw new IllegalArgumentException("want either handler-threads or virtual-threads");
    }
    if (count != null) {
      give("handler-threads", count, most -> builder.executor(pool(most)));
    } else if (virtualThreads) {
      builder.virtualThreads();
    }
  }

  private ExecutorService pool(int count) {
    if (count < 1) {
      throw new IllegalArgumentException(count + " was given, want 1 or more");
    }
    ExecutorService pool = Threads.pool("trunkcall-handler-", count);
    threads = pool;
    return pool;
  }

  /** The server has been stopped: no handler runs any more. */
  void stopped() {
    ExecutorService pool = threads;
    if (pool != null) {
      pool.shutdown();
    }
  }
}
