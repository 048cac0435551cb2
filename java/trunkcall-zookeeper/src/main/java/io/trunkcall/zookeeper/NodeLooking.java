package io.trunkcall.zookeeper;

import io.trunkcall.registry.Account;
import io.trunkcall.registry.Entry;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Watcher;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;

/**
 * What a watcher knows of a service: each node that it knows has a watch, and so has the one above
 * them. Used by one thread.
 */
final class NodeLooking {
  private static final int AT_ONCE = 256; // nodes that are asked for
  private static final Duration ANSWERED = Duration.ofSeconds(20);
  private static final byte[] NOTHING = {};
  private static final Duration LONG = Duration.ofHours(1);

  private final Session session;
  private final String folder;
  private final Account account = new Account();
  private final Set<String> unread = new HashSet<>(); // they are asked for again with each list

  NodeLooking(Session session, String folder) {
    this.session = session;
    this.folder = folder;
  }

  /** Until the thread is interrupted. */
  void watch(Watcher watcher) throws IOException, InterruptedException {
    List<Entry> there = new ArrayList<>();
    read(list(), there);
    watcher.all(there);
    while (true) {
      Set<String> changed = new LinkedHashSet<>();
      for (WatchedEvent one = session.next(LONG); one != null; one = session.next()) {
        take(one, changed);
      }
      tell(changed, watcher);
    }
  }

  /** Takes the path of an event. Throws RegistryException where the session or connection ended. */
  private static void take(WatchedEvent event, Set<String> changed) throws RegistryException {
    if (event.getType() != EventType.None) {
      changed.add(event.getPath());
    } else if (event.getState() != KeeperState.SyncConnected) {
      throw new RegistryException("the connection to ZooKeeper has ended: " + event.getState());
    }
  }

  /** Tells of what is otherwise at the nodes whose watches have fired. */
  private void tell(Set<String> changed, Watcher watcher) throws IOException, InterruptedException {
    Set<String> ids = new HashSet<>();
    Set<String> went = new HashSet<>();
    boolean listed = false;
    for (String path : changed) {
      if (path.startsWith(folder + "/")) {
        ids.add(path.substring(folder.length() + 1));
      } else {
        listed = true;
      }
    }
    if (listed) {
      Set<String> there = new HashSet<>(list());
      Set<String> known = account.ids();
      there.stream().filter(id -> !known.contains(id)).forEach(ids::add);
      known.stream().filter(id -> !there.contains(id)).forEach(went::add);
      unread.stream().filter(there::contains).forEach(ids::add);
      unread.clear();
    }
    List<Entry> came = new ArrayList<>();
    went.addAll(read(ids, came));
    went.forEach(account::remove);
    if (!came.isEmpty() || !went.isEmpty()) {
      watcher.change(came, went);
    }
  }

  /** The ids that there are. A service that nobody has published has none. */
  private List<String> list() throws IOException, InterruptedException {
    while (true) {
      List<String> names = Session.get(session.children(folder), ANSWERED);
      if (names != null) {
        return names;
      }
      // It may come between the two questions.
      if (!Session.get(session.exists(folder), ANSWERED)) {
        return List.of();
      }
    }
  }

  /** Asks for what nodes hold, and sets a watch on each. Returns those that are not there. */
  private Set<String> read(Collection<String> ids, List<Entry> came)
      throws IOException, InterruptedException {
    List<String> all = List.copyOf(ids);
    Set<String> gone = new HashSet<>();
    for (int from = 0; from < all.size(); from += AT_ONCE) {
      List<String> part = all.subList(from, Math.min(from + AT_ONCE, all.size()));
      List<CompletableFuture<Session.Node>> asked =
          part.stream().map(id -> session.read(folder + "/" + id, true)).toList();
      for (int i = 0; i < part.size(); i++) {
        String id = part.get(i);
        byte[] data;
        try {
          data = Session.get(asked.get(i), ANSWERED).data();
        } catch (RegistryException fault) {
          if (!(fault.getCause() instanceof KeeperException.NoAuthException)) {
            throw fault;
          }
          unread.add(id);
          Entry unused = account.put(id, NOTHING);
          came.add(Entry.faulty(id, "", "ZooKeeper does not let it be read"));
          continue;
        }
        if (data == null) {
          gone.add(id);
        } else {
          came.add(account.put(id, data));
        }
      }
    }
    return gone;
  }
}
