package io.trunkcall.zookeeper;

import io.trunkcall.registry.RegistryException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.AsyncCallback;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * One with ZooKeeper. Within its time the library connects again by itself, and sets the watches
 * again. What it tells on its own thread waits here for the one that uses the session.
 */
final class Session implements Watcher, AutoCloseable {
  private static final Duration SOON = Duration.ofMillis(500); // a session begins, usually
  private static final Duration REACHED = Duration.ofSeconds(10);

  static final int NO_NODE = KeeperException.Code.NONODE.intValue();

  final ZooKeeper client;
  private final BlockingQueue<WatchedEvent> events = new LinkedBlockingQueue<>();

  /** A node; of those that are not there, null stands for the data. */
  record Node(byte @Nullable [] data, Stat stat) {}

  private Session(ZooKeeperStore store, Duration lease) throws IOException {
    int millis = Math.toIntExact(lease.toMillis());
    this.client = new ZooKeeper(store.hosts, millis, this, store.config());
    if (!store.scheme.isEmpty()) {
      client.addAuthInfo(store.scheme, store.auth);
    }
  }

  /** Begins a session of a time. Throws RegistryException if no server takes it soon. */
  static Session open(ZooKeeperStore store, Duration lease)
      throws IOException, InterruptedException {
    Session session = new Session(store, lease);
    boolean begun = false;
    try {
      WatchedEvent first = session.next(SOON);
      if (first == null) {
        // The library tells nobody that hosts refuse connections.
        String refusal = Refusals.of(List.of(store.hosts.split(",", -1)));
        if (!refusal.isEmpty()) {
          throw new RegistryException("ZooKeeper: " + refusal);
        }
        first = session.next(REACHED);
      }
      while (first != null && first.getState() == Event.KeeperState.Disconnected) {
        first = session.next(REACHED);
      }
      if (first == null) {
        throw new RegistryException(
            "ZooKeeper could not be reached for " + REACHED.toSeconds() + " s");
      }
      if (first.getState() == Event.KeeperState.AuthFailed) {
        throw new RegistryException("ZooKeeper has refused what the client says of itself");
      }
      begun = true;
      return session;
    } finally {
      if (!begun) {
        session.close();
      }
    }
  }

  @Override
  public void process(WatchedEvent event) {
    events.add(event);
  }

  /** The next event, waited for; null if there is none in that time. */
  @Nullable WatchedEvent next(Duration atMost) throws InterruptedException {
    return events.poll(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** The next event if there is one. */
  @Nullable WatchedEvent next() {
    return events.poll();
  }

  /** Asks for a node, and to be told once when it changes, or comes. */
  CompletableFuture<Node> read(String path, boolean watch) {
    CompletableFuture<Node> found = new CompletableFuture<>();
    AsyncCallback.DataCallback told =
        (code, at, context, data, stat) -> {
          if (code == NO_NODE) {
            found.complete(new Node(null, new Stat()));
          } else if (isOk(code, path, found)) {
            found.complete(new Node(data == null ? new byte[0] : data, stat));
          }
        };
    try {
      client.getData(path, watch, told, null);
    } catch (IllegalArgumentException none) { // ZooKeeper has told a name that no node has
      found.completeExceptionally(none);
    }
    return found;
  }

  /** Asks for the names below a node, and to be told once when they change; null: it is not. */
  CompletableFuture<@Nullable List<String>> children(String path) {
    CompletableFuture<@Nullable List<String>> found = new CompletableFuture<>();
    AsyncCallback.ChildrenCallback told =
        (code, at, context, names) -> {
          if (code == NO_NODE) {
            found.complete(null);
          } else if (isOk(code, path, found)) {
            found.complete(names == null ? List.of() : names);
          }
        };
    client.getChildren(path, true, told, null);
    return found;
  }

  /** Asks whether a node is there, and to be told once when it comes or goes. */
  CompletableFuture<Boolean> exists(String path) {
    CompletableFuture<Boolean> found = new CompletableFuture<>();
    client.exists(
        path,
        true,
        (code, at, context, stat) -> {
          if (code == NO_NODE || isOk(code, path, found)) {
            found.complete(code != NO_NODE);
          }
        },
        null);
    return found;
  }

  /**
   * Whether an operation was carried out. If it was not, whoever waits for it is told; also by an
   * error that the library does not know, for which it has no exception.
   */
  static boolean isOk(int code, @Nullable String path, CompletableFuture<?> waiting) {
    if (code == KeeperException.Code.OK.intValue()) {
      return true;
    }
    Exception fault;
    try {
      fault = KeeperException.create(KeeperException.Code.get(code), path);
    } catch (IllegalArgumentException unknown) {
      String where = path == null ? "" : " for " + path;
      fault = new RegistryException("it answered error " + code + where, unknown);
    }
    waiting.completeExceptionally(fault);
    return false;
  }

  /** Waits for an answer. */
  static <T> T get(CompletableFuture<T> answer, Duration atMost)
      throws IOException, InterruptedException {
    try {
      return answer.get(atMost.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      throw new RegistryException("ZooKeeper has not answered for " + atMost.toMillis() + " ms");
    } catch (ExecutionException failed) {
      throw told(failed.getCause() == null ? failed : failed.getCause());
    }
  }

  /** A failure of the library in its own words. */
  static RegistryException told(Throwable fault) {
    return new RegistryException("ZooKeeper: " + fault.getMessage(), fault);
  }

  /** Ends the session, if ZooKeeper can be reached; nobody waits for that. */
  @Override
  public void close() {
    closeAfter(Duration.ZERO);
  }

  /** The same later: until then what is bound to the session stays. */
  void closeAfter(Duration time) {
    Thread thread =
        new Thread(
            () -> {
              try {
                Thread.sleep(time.toMillis());
                client.close();
              } catch (InterruptedException never) {
                Thread.currentThread().interrupt();
              }
            },
            "trunkcall-zookeeper-close");
    thread.setDaemon(true);
    thread.start();
  }
}
