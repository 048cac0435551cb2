package io.trunkcall.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.OptionsUtil;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import io.trunkcall.registry.Account;
import io.trunkcall.registry.Entry;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Watcher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What a watcher knows of the keys of a service. Used by one thread. */
final class KeyLooking {
  private static final int PAGE = 256; // keys of an answer
  private static final Duration ASKED = Duration.ofSeconds(5); // whether etcd is still there

  private final Client client;
  private final String prefix;
  private final Answers answers = new Answers();
  private final Account account = new Account();

  KeyLooking(Client client, String prefix) {
    this.client = client;
    this.prefix = prefix;
  }

  /** Until the thread is interrupted. */
  void watch(Watcher watcher) throws Exception {
    long revision = all(watcher);
    Told told = new Told();
    WatchOption from =
        WatchOption.builder()
            .withRange(end())
            .withRevision(revision + 1)
            .withRequireLeader(true)
            .build();
    try (Watch.Watcher watching =
        client.getWatchClient().watch(EtcdStore.bytes(prefix), from, told)) {
      while (true) {
        changed(told.next(ASKED), watcher);
        if (told.isQuiet()) {
          // jetcd goes on by itself after a failure. That there is one is to be told all the same.
          answers.get(client.getKVClient().get(EtcdStore.bytes(prefix), count()));
        }
      }
    }
  }

  private ByteSequence end() {
    return OptionsUtil.prefixEndOf(EtcdStore.bytes(prefix));
  }

  private GetOption count() {
    return GetOption.builder().withRange(end()).withCountOnly(true).build();
  }

  /** Tells all entries; returns the revision at which they stood there. */
  private long all(Watcher watcher) throws Exception {
    List<Entry> entries = new ArrayList<>();
    ByteSequence from = EtcdStore.bytes(prefix);
    long revision = 0;
    int page = PAGE;
    while (true) {
      GetOption part =
          GetOption.builder().withRange(end()).withLimit(page).withRevision(revision).build();
      GetResponse found;
      try {
        found = answers.get(client.getKVClient().get(from, part));
      } catch (RegistryException fault) {
        if (page > 1 && Answers.isTooLong(fault)) { // there is more than records
          page /= 2;
          continue;
        }
        throw fault;
      }
      for (KeyValue one : found.getKvs()) {
        if (Arrays.compareUnsigned(one.getKey().getBytes(), from.getBytes()) < 0) {
          throw new RegistryException( // such answers might have no end
              "etcd answered with keys that do not ascend");
        }
        from = one.getKey().concat(ByteSequence.from(new byte[1]));
        entries.add(account.put(id(one), one.getValue().getBytes()));
      }
      revision = revision == 0 ? found.getHeader().getRevision() : revision;
      if (!found.isMore() || found.getKvs().isEmpty()) {
        watcher.all(entries);
        return revision;
      }
    }
  }

  /** The id of a key; of one that is no text, one that is none. */
  private String id(KeyValue one) {
    String key = one.getKey().toString();
    return key.startsWith(prefix) ? key.substring(prefix.length()) : key;
  }

  /** Tells what has changed, of each id the last. */
  private void changed(List<WatchEvent> events, Watcher watcher) throws RegistryException {
    Map<String, @Nullable Entry> last = new LinkedHashMap<>();
    for (WatchEvent event : events) {
      if (event.getKeyValue().getKey().isEmpty()
          || event.getEventType() == WatchEvent.EventType.UNRECOGNIZED) {
        throw Answers.form();
      }
      String id = id(event.getKeyValue());
      if (event.getEventType() == WatchEvent.EventType.DELETE) {
        account.remove(id);
        last.put(id, null);
      } else {
        last.put(id, account.put(id, event.getKeyValue().getValue().getBytes()));
      }
    }
    List<Entry> came = new ArrayList<>();
    List<String> went = new ArrayList<>();
    last.forEach(
        (id, entry) -> {
          if (entry == null) {
            went.add(id);
          } else {
            came.add(entry);
          }
        });
    if (!last.isEmpty()) {
      watcher.change(came, went);
    }
  }

  /** What jetcd tells on its threads, until it is taken. */
  static final class Told implements Watch.Listener {
    private final BlockingQueue<Object> queue = new LinkedBlockingQueue<>(); // or what failed
    private boolean quiet;

    /**
     * The events that there are, waited for. Throws RegistryException where the watch has failed.
     */
    List<WatchEvent> next(Duration atMost) throws RegistryException, InterruptedException {
      List<WatchEvent> events = new ArrayList<>();
      Object one = queue.poll(atMost.toNanos(), TimeUnit.NANOSECONDS);
      quiet = one == null;
      while (one != null) {
        if (one instanceof Throwable fault) {
          throw Answers.failure(fault);
        } else if (one instanceof WatchResponse response) {
          events.addAll(response.getEvents());
        }
        one = queue.poll();
      }
      return events;
    }

    /** Whether there was nothing the last time. */
    boolean isQuiet() {
      return quiet;
    }

    @Override
    public void onNext(WatchResponse response) {
      queue.add(response);
    }

    @Override
    public void onError(Throwable fault) {
      queue.add(fault);
    }

    @Override
    public void onCompleted() {
      queue.add(new RegistryException("the watch was ended"));
    }
  }
}
