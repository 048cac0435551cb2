package io.trunkcall.zookeeper;

import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Written;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/** Publishes records as ephemeral nodes. Used by one thread. */
final class NodeKeeping {
  private static final int AT_ONCE = 24; // records in a request, of which ZooKeeper takes a MiB
  private static final Duration ANSWERED = Duration.ofSeconds(10);
  private static final Duration WITHDRAWN = Duration.ofSeconds(5);
  private static final int EXISTS = KeeperException.Code.NODEEXISTS.intValue();

  private final ZooKeeperStore store;
  private final Map<String, Written> records = new LinkedHashMap<>(); // by path

  NodeKeeping(ZooKeeperStore store, List<Written> records) {
    this.store = store;
    records.forEach(one -> this.records.put(store.root + "/" + one, one));
  }

  /** Until the thread is interrupted; then it withdraws them. */
  void keep(Runnable published) throws IOException, InterruptedException {
    Session session = Session.open(store, store.lease);
    Duration stays = store.lease; // after a failure, until they are written again
    try {
      put(session);
      published.run();
      watch(session);
    } catch (InterruptedException end) {
      stays = Duration.ZERO;
      withdraw(session);
    } finally {
      session.closeAfter(stays);
    }
  }

  /** Makes the nodes, unless what stands there is another server's. */
  private void put(Session session) throws IOException, InterruptedException {
    List<Op> operations = new ArrayList<>();
    int gathered = 0;
    int left = records.size();
    for (Map.Entry<String, Written> one : records.entrySet()) {
      String path = one.getKey();
      Session.Node there = Session.get(session.read(path, false), ANSWERED);
      byte[] data = there.data();
      if (data == null) {
        above(session, path);
      } else {
        one.getValue().checkReplaces(data);
        operations.add(Op.delete(path, there.stat().getVersion()));
      }
      operations.add(Op.create(path, one.getValue().data(), store.acl, CreateMode.EPHEMERAL));
      gathered++;
      left--;
      if (gathered == AT_ONCE || left == 0) {
        carryOut(session, operations);
        operations.clear();
        gathered = 0;
      }
    }
  }

  /** Carries out operations, all or none. */
  private static void carryOut(Session session, List<Op> operations)
      throws IOException, InterruptedException {
    CompletableFuture<List<OpResult>> done = new CompletableFuture<>();
    session.client.multi(
        operations,
        (code, path, context, results) -> {
          if (Session.isOk(code, faulty(operations, results), done)) {
            done.complete(results);
          }
        },
        null);
    Session.get(done, ANSWERED);
  }

  /** The path of the operation that has failed. */
  private static @Nullable String faulty(List<Op> operations, @Nullable List<OpResult> results) {
    for (int i = 0; results != null && i < results.size() && i < operations.size(); i++) {
      if (results.get(i) instanceof OpResult.ErrorResult error
          && error.getErr() != KeeperException.Code.OK.intValue()
          && error.getErr() != KeeperException.Code.RUNTIMEINCONSISTENCY.intValue()) {
        return operations.get(i).getPath();
      }
    }
    return null;
  }

  /** Makes the nodes above one that are not there. */
  private void above(Session session, String path) throws IOException, InterruptedException {
    for (int to = path.indexOf('/', 1); to > 0; to = path.indexOf('/', to + 1)) {
      String one = path.substring(0, to);
      CompletableFuture<String> made = new CompletableFuture<>();
      session.client.create(
          one,
          new byte[0],
          store.acl,
          CreateMode.PERSISTENT,
          (code, at, context, name) -> {
            if (code == EXISTS || Session.isOk(code, at, made)) {
              made.complete(at);
            }
          },
          null);
      Session.get(made, ANSWERED);
    }
  }

  /**
   * Returns only by a failure: when a record is no longer what was written, or the session over.
   */
  private void watch(Session session) throws IOException, InterruptedException {
    Set<String> changed = new HashSet<>(records.keySet());
    long awaySince = 0; // 0: it is connected
    while (true) {
      if (awaySince == 0) {
        for (String path : Set.copyOf(changed)) {
          changed.remove(path);
          look(session, path, changed);
        }
      }
      long left = store.lease.toNanos() - (System.nanoTime() - awaySince);
      if (awaySince != 0 && left <= 0) {
        throw new RegistryException(
            "ZooKeeper could not be reached for " + store.lease.toMillis() + " ms");
      }
      WatchedEvent event = session.next(awaySince == 0 ? store.lease : Duration.ofNanos(left));
      if (event == null) {
        continue;
      }
      if (event.getType() != EventType.None) {
        changed.add(event.getPath());
      } else if (event.getState() == KeeperState.SyncConnected) {
        awaySince = 0;
      } else if (event.getState() == KeeperState.Disconnected) {
        awaySince = awaySince == 0 ? System.nanoTime() : awaySince;
      } else {
        throw new RegistryException("the session with ZooKeeper is over: " + event.getState());
      }
    }
  }

  /** Sets a watch on a node, whoever's it is by now. It must hold what was written. */
  private void look(Session session, String path, Set<String> changed)
      throws IOException, InterruptedException {
    Written written = records.get(path);
    if (written == null) {
      return;
    }
    Session.Node there;
    try {
      there = Session.get(session.read(path, true), ANSWERED);
    } catch (RegistryException fault) {
      if (fault.getCause() instanceof KeeperException.ConnectionLossException) {
        changed.add(path); // it is looked at again once there is a connection
        return;
      }
      throw fault;
    }
    if (!Arrays.equals(there.data(), written.data())) {
      throw new RegistryException(written + " was removed, or written by somebody else");
    }
  }

  /** Removes the nodes that are the session's own. */
  private void withdraw(Session session) throws IOException, InterruptedException {
    List<CompletableFuture<Session.Node>> asked =
        records.keySet().stream().map(path -> session.read(path, false)).toList();
    List<String> paths = List.copyOf(records.keySet());
    List<CompletableFuture<Integer>> removed = new ArrayList<>();
    for (int i = 0; i < paths.size(); i++) {
      Stat stat = Session.get(asked.get(i), WITHDRAWN).stat();
      if (stat.getEphemeralOwner() == session.client.getSessionId()) {
        CompletableFuture<Integer> done = new CompletableFuture<>();
        session.client.delete(
            paths.get(i),
            stat.getVersion(),
            (code, at, context) -> {
              if (code == Session.NO_NODE || Session.isOk(code, at, done)) {
                done.complete(code);
              }
            },
            null);
        removed.add(done);
      }
    }
    for (CompletableFuture<Integer> one : removed) {
      int unused = Session.get(one, WITHDRAWN);
    }
  }
}
