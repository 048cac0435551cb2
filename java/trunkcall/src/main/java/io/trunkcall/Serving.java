package io.trunkcall;

import io.trunkcall.internal.wire.Load;
import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.ServedMethod;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What the calls have in common that a server serves, or a client for its servers. Used by any
 * thread.
 */
final class Serving {
  final String side; // "server" or "client", as callers are told
  final List<ServerInterceptor> interceptors;
  final @Nullable WatchedPolicyFile file; // whose limits stand before admission
  final @Nullable Admission admission;
  final Packing packing;
  final boolean strictJson;
  final Executor executor;
  final Load load;
  final Journal journal = new Journal();
  final LongAdder oneWayFailures = new LongAdder();

  /** Handlers of one-way calls that were accepted, which no connection knows of any more. */
  final Set<ServingCall> oneWays = ConcurrentHashMap.newKeySet();

  private final ConcurrentHashMap<String, ServedMethod> methods = new ConcurrentHashMap<>();
  private final AtomicInteger running = new AtomicInteger();
  private final AtomicReference<@Nullable CompletableFuture<@Nullable Void>> ended =
      new AtomicReference<>(); // for all who wait

  Serving(
      String side,
      List<ServerInterceptor> interceptors,
      @Nullable WatchedPolicyFile file,
      @Nullable Admission admission,
      Packing packing,
      boolean strictJson,
      Executor executor,
      Load load) {
    this.side = side;
    this.interceptors = List.copyOf(interceptors);
    this.file = file;
    this.admission = admission;
    this.packing = packing;
    this.strictJson = strictJson;
    this.executor = executor;
    this.load = load;
  }

  /**
   * Throws IllegalArgumentException if one of the methods is served already; then none is added.
   */
  synchronized void register(Collection<Handler> handlers) {
    Map<String, ServedMethod> added = new HashMap<>();
    for (Handler handler : handlers) {
      String name = handler.method().name();
      Served served = new Served(handler, strictJson);
      if (methods.containsKey(name) || added.put(name, served.wire) != null) {
        throw new IllegalArgumentException("method " + name + " is registered already");
      }
    }
    methods.putAll(added);
  }

  MethodTable table() {
    return methods::get;
  }

  /** The method of a name, null if it is not served. */
  @Nullable Served find(String name) {
    ServedMethod found = methods.get(name);
    return found != null && found.target() instanceof Served served ? served : null;
  }

  /** What is served, by name. */
  List<Method<?, ?>> methods() {
    List<Method<?, ?>> found = new ArrayList<>();
    for (ServedMethod one : methods.values()) {
      if (one.target() instanceof Served served) {
        found.add(served.method);
      }
    }
    found.sort(Comparator.comparing(Method::name));
    return found;
  }

  /** The names of the services of these, sorted. */
  List<String> services() {
    return methods().stream().map(Method::service).distinct().sorted().toList();
  }

  void began() {
    running.incrementAndGet();
  }

  void returned() {
    if (running.decrementAndGet() == 0) {
      CompletableFuture<@Nullable Void> waits = ended.get();
      if (waits != null) {
        waits.complete(null);
      }
    }
  }

  /** Done when no handler runs any more. Nothing begins meanwhile: the connections are gone. */
  CompletableFuture<@Nullable Void> end() {
    for (ServingCall call : oneWays) {
      call.stop("the " + side + " has been stopped");
    }
    return idle();
  }

  /** Done when no handler runs any more. */
  CompletableFuture<@Nullable Void> idle() {
    CompletableFuture<@Nullable Void> fresh = new CompletableFuture<>();
    CompletableFuture<@Nullable Void> before =
        ended.getAndUpdate(there -> there == null || there.isDone() ? fresh : there);
    CompletableFuture<@Nullable Void> waits = before == null || before.isDone() ? fresh : before;
    if (running.get() == 0) {
      waits.complete(null);
    }
    return waits.copy(); // who gives up waiting ends it for nobody else
  }
}
