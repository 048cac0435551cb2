package io.trunkcall.registry;

import io.trunkcall.Server;
import io.trunkcall.internal.client.Backoff;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Publishes one server in a registry: {@code Server.builder().registrar(Registrar.of(store))}. Any
 * thread may use it.
 */
public final class Registrar implements io.trunkcall.Registrar {
  private static final int MOST_TOLD = 8; // keys

  private final Store store;
  private final Published said;
  private final CompletableFuture<@Nullable Void> published = new CompletableFuture<>();

  private final ReentrantLock lock = new ReentrantLock(); // of all below; nothing waits under it
  private final List<Keeping> keepings = new ArrayList<>(); // those that have ended are taken out
  private @Nullable Server server; // that it publishes
  private boolean withdrawn;

  private Registrar(Store store, Published said) {
    this.store = store;
    this.said = said;
  }

  /** One that publishes all services of a server, with the addresses that it listens on. */
  public static Registrar of(Store store) {
    return builder(store).build();
  }

  /** A builder of one. */
  public static Builder builder(Store store) {
    return new Builder(store);
  }

  /**
   * Publishes a server; does not wait for the registry.
   *
   * @throws IllegalArgumentException for what cannot be published
   * @throws IllegalStateException once it has withdrawn a server
   */
  @Override
  public void publish(Server server) {
    lock.lock();
    try {
      if (withdrawn) {
        throw new IllegalStateException("a registrar publishes one server, and it was stopped");
      }
      List<String> addresses = server.addresses();
      List<Written> records =
          addresses.isEmpty() ? List.of() : said.records(server.services(), addresses);
      if (this.server != null && this.server != server) {
        throw new IllegalStateException("a registrar publishes one server, and it has another");
      }
      this.server = server;
      keepings.removeIf(one -> one.ended.isDone());
      // What stays as it is stays published meanwhile, and is kept as before.
      List<Written> added = new ArrayList<>(records);
      List<CompletableFuture<?>> before = new ArrayList<>();
      for (Keeping one : keepings) {
        if (!one.stopped && one.isAmong(records)) {
          added.removeIf(one::keeps);
        } else {
          one.stop();
          before.add(one.ended);
        }
      }
      if (!added.isEmpty()) {
        Keeping keeping = new Keeping(List.copyOf(added), before);
        keeping.thread.start();
        keepings.add(keeping);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<?> withdraw() {
    lock.lock();
    try {
      withdrawn = true;
      keepings.forEach(Keeping::stop);
      return CompletableFuture.allOf(
          keepings.stream().map(one -> one.ended).toArray(CompletableFuture<?>[]::new));
    } finally {
      lock.unlock();
    }
  }

  /** Done once the server was published for the first time. */
  public CompletableFuture<@Nullable Void> published() {
    return published.copy();
  }

  /** Keeps records until it is stopped, on a thread of its own. */
  private final class Keeping implements Runnable {
    final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
    final Thread thread = new Thread(this, "trunkcall-registrar");
    private final List<Written> records;
    private final CompletableFuture<?> before;
    private final String keys;
    private volatile boolean stopped;
    private volatile boolean there;

    /** What is kept before ends first: its records may have the same keys. */
    Keeping(List<Written> records, List<CompletableFuture<?>> before) {
      this.records = records;
      this.before = CompletableFuture.allOf(before.toArray(CompletableFuture<?>[]::new));
      this.keys = keys(records);
      thread.setDaemon(true);
    }

    /** For people: the log has room for so many, and for what is said of them. */
    private static String keys(List<Written> records) {
      int more = records.size() - MOST_TOLD;
      return records.stream()
              .limit(MOST_TOLD)
              .map(Written::toString)
              .collect(Collectors.joining(", "))
          + (more > 0 ? " and " + more + " more" : "");
    }

    /** Whether all that it keeps is to be kept. */
    boolean isAmong(List<Written> wanted) {
      return records.stream().allMatch(one -> wanted.stream().anyMatch(other -> same(one, other)));
    }

    boolean keeps(Written wanted) {
      return records.stream().anyMatch(one -> same(one, wanted));
    }

    private static boolean same(Written one, Written other) {
      return Arrays.equals(one.data(), other.data());
    }

    void stop() {
      if (!stopped) { // a second interrupt would cut its withdrawing short
        stopped = true;
        thread.interrupt();
      }
    }

    @Override
    public void run() {
      try {
        before.join();
        keep();
      } finally {
        ended.complete(null);
      }
    }

    private void keep() {
      int failures = 0;
      boolean told = false;
      while (!stopped) {
        there = false;
        String why = tryToKeep();
        if (stopped) {
          if (!why.isEmpty()) {
            RegistryLog.warn("not withdrawn from a registry in order: " + keys + ": " + why);
          }
          return;
        }
        if (there) {
          failures = 0;
          told = false;
        }
        failures++;
        if (!told) {
          told = true;
          boolean named = records.stream().anyMatch(one -> why.startsWith(one + ": "));
          RegistryLog.warn("not published in a registry: " + (named ? why : keys + ": " + why));
        }
        try {
          Thread.sleep(Backoff.pause(failures, ThreadLocalRandom.current()).toMillis() + 1);
        } catch (InterruptedException end) {
          // It is seen above.
        }
      }
    }

    /** Returns why it keeps them no more, empty if it was stopped. */
    private String tryToKeep() {
      try {
        store.keep(records, this::tellPublished);
        return stopped ? "" : "the registry keeps it no more";
      } catch (InterruptedException end) {
        return stopped ? "" : "interrupted";
      } catch (Throwable fault) { // a package of a registry may lack classes
        return RegistryException.spelled(fault);
      }
    }

    private void tellPublished() {
      there = true;
      RegistryLog.info("published in a registry: " + keys);
      published.complete(null);
    }
  }

  /** Collects what is said of a server in a registry. Used by one thread. */
  public static final class Builder {
    private final Store store;
    private List<String> names = List.of();
    private List<String> addresses = List.of();
    private String id = "";
    private String serverName = "";
    private int weight = 1;
    private String zone = "";
    private String version = "";
    private Map<String, String> attributes = Map.of();

    private Builder(Store store) {
      this.store = Objects.requireNonNull(store, "store");
    }

    /**
     * The services under which the server is found: unless they are given, all that it serves but
     * gRPC's own health and reflection.
     */
    public Builder names(String... services) {
      this.names = List.of(services);
      return this;
    }

    /**
     * Where the server is reached, unless it is given where it listens. Needed where it listens on
     * all addresses of a machine.
     */
    public Builder addresses(String... where) {
      this.addresses = List.of(where);
      return this;
    }

    /**
     * Which instance it is; unless it is given it is made of the first address, so that a server
     * which is started again there takes the place of what it left.
     */
    public Builder id(String id) {
      this.id = Objects.requireNonNull(id, "id");
      return this;
    }

    /** See {@link ServiceRecord#serverName}. */
    public Builder serverName(String serverName) {
      this.serverName = Objects.requireNonNull(serverName, "serverName");
      return this;
    }

    /** See {@link ServiceRecord#weight}. */
    public Builder weight(int weight) {
      this.weight = weight;
      return this;
    }

    /** See {@link ServiceRecord#zone}. */
    public Builder zone(String zone) {
      this.zone = Objects.requireNonNull(zone, "zone");
      return this;
    }

    /** See {@link ServiceRecord#version}. */
    public Builder version(String version) {
      this.version = Objects.requireNonNull(version, "version");
      return this;
    }

    /** See {@link ServiceRecord#attributes}. */
    public Builder attributes(Map<String, String> attributes) {
      this.attributes = Map.copyOf(attributes);
      return this;
    }

    /** The registrar. What is wrong with what was said is told when the server listens. */
    public Registrar build() {
      return new Registrar(
          store,
          new Published(names, addresses, id, serverName, weight, zone, version, attributes));
    }
  }
}
