package io.trunkcall.registry;

import io.trunkcall.Endpoint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Makes sets of endpoints of what a registry tells (registry.md 6). Times are µs of a clock that
 * does not jump. Used by one thread at a time.
 */
final class View {
  static final long NEVER = Long.MAX_VALUE;

  private static final long MISSING = 60_000_000; // µs for which what went is missing
  private static final long SETTLING = 10_000; // µs between two sets that are handed over
  private static final int NAMED = 8; // pieces of rubbish that are told of one telling

  /** What it tells. */
  interface Told {
    /** A set that is to be used from now on. */
    void handed(long at, List<Endpoint> set);

    /** Entries that are left out, and how many more there are. */
    void leftOut(long at, List<LeftOut> some, int more);

    /** The registry fails; once until it tells something again. */
    void failing(long at, String why);

    /** The registry tells something again. */
    void again(long at);

    /** So many instances are kept that the registry has not; once until there are none. */
    void kept(long at, int instances);
  }

  /** An entry that is no record. */
  record LeftOut(Entry entry, String why) {}

  private final String service;
  private final Told told;
  private final Map<String, Entry> entries = new HashMap<>(); // that stand in the registry
  private final Map<String, Endpoint> good = new HashMap<>(); // the last, of these or missing
  private final TreeSet<String> touched = new TreeSet<>(); // whose good one may not be handed over
  private final Map<String, Long> missing = new LinkedHashMap<>(); // since when, the longest first
  private final Set<String> remembered = new HashSet<>(); // of the missing: whose good one is kept
  private int present; // how many of good are there
  private boolean begun; // the registry has told something
  private @Nullable String fault; // why it fails
  private boolean keeping; // what the registry has not
  private boolean changed; // since the set was handed over
  private Endpoint[] handed = {}; // last, in the order of the ids
  private long handedAt;

  View(String service, Told told) {
    this.service = service;
    this.told = told;
  }

  /** The registry fails, which changes nothing. */
  void fail(long at, String why) {
    if (fault == null) {
      told.failing(at, why);
    }
    fault = why;
  }

  /** Takes all entries that there are. */
  void all(long at, Collection<Entry> there) {
    Map<String, Entry> now = new HashMap<>();
    there.forEach(one -> now.put(one.id(), one));
    List<String> went = entries.keySet().stream().filter(id -> !now.containsKey(id)).toList();
    change(at, there, went);
  }

  /** Takes entries that came or changed, and the ids of those that went. */
  void change(long at, Collection<Entry> came, Collection<String> went) {
    begun = true;
    if (fault != null) {
      told.again(at);
    }
    fault = null;
    int before = present;
    for (String id : went) {
      if (entries.remove(id) != null && good.containsKey(id)) {
        missing.put(id, at);
        remembered.add(id);
        present--;
      }
    }
    List<LeftOut> left = new ArrayList<>();
    for (Entry one : came) {
      String why = take(one);
      if (why != null) {
        left.add(new LeftOut(one, why));
      }
    }
    if (!left.isEmpty()) {
      left.sort(Comparator.comparing(one -> one.entry().id()));
      int named = Math.min(left.size(), NAMED);
      told.leftOut(at, List.copyOf(left.subList(0, named)), left.size() - named);
    }
    if (before == 0 && present > 0) {
      missing.replaceAll((id, since) -> at);
    }
    compute(at);
  }

  /** Takes one entry. Returns why it is no record, once for the same bytes; null if it is one. */
  private @Nullable String take(Entry entry) {
    Entry before = entries.put(entry.id(), entry);
    if (before != null && before.says(entry)) {
      return null;
    }
    boolean wasThere = before != null && good.containsKey(entry.id());
    String why = entry.fault();
    if (why == null) {
      try {
        good.put(entry.id(), ServiceRecord.parseAt(service, entry.id(), entry.data()).toEndpoint());
        touched.add(entry.id());
      } catch (InvalidRecordException invalid) {
        why = String.valueOf(invalid.getMessage());
      }
    }
    if (good.containsKey(entry.id())) {
      missing.remove(entry.id());
      remembered.remove(entry.id());
      present += wasThere ? 0 : 1;
    }
    return why;
  }

  /** What is due at a time (6.4). */
  void compute(long at) {
    if (present > 0) {
      forgetMissing(at);
      changed = true;
    }
    handOver(at);
    if (!keeping && !remembered.isEmpty()) {
      told.kept(at, remembered.size());
    }
    keeping = !remembered.isEmpty();
  }

  private void forgetMissing(long at) {
    Iterator<Map.Entry<String, Long>> each = missing.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry<String, Long> one = each.next();
      if (at - one.getValue() < MISSING) {
        break;
      }
      each.remove();
      if (remembered.remove(one.getKey())) {
        forget(one.getKey());
      }
    }
    if (present >= missing.size()) {
      remembered.forEach(this::forget);
      remembered.clear();
    }
  }

  /** Drops the record of what is missing. */
  private void forget(String id) {
    good.remove(id);
    touched.add(id);
  }

  /** Hands over what is good, if that is another set than the last one and it is time for it. */
  private void handOver(long at) {
    if (!changed || handed.length > 0 && at < handedAt + SETTLING) {
      return;
    }
    changed = false;
    Endpoint[] set = next();
    touched.clear();
    if (set != handed) {
      handed = set;
      handedAt = at;
      told.handed(at, List.of(handed));
    }
  }

  /**
   * The set as it is now: the last one, with what was touched exchanged; itself if that is the
   * same. Endpoints that are as they were are the same objects, by which a client knows them.
   */
  private Endpoint[] next() {
    Endpoint[] set = new Endpoint[handed.length + touched.size()];
    boolean other = false;
    int copied = 0; // of the last set
    int size = 0;
    for (String id : touched) {
      int at = place(id, copied);
      System.arraycopy(handed, copied, set, size, at - copied);
      size += at - copied;
      Endpoint before = at < handed.length && handed[at].id().equals(id) ? handed[at] : null;
      copied = before == null ? at : at + 1;
      Endpoint now = good.get(id);
      if (now != null && now.equals(before)) {
        good.put(id, before);
        now = before;
      }
      if (now != null) {
        set[size++] = now;
      }
      other |= now != before;
    }
    System.arraycopy(handed, copied, set, size, handed.length - copied);
    return other ? Arrays.copyOf(set, size + handed.length - copied) : handed;
  }

  /** Where in the last set an id stands, or would, from an index on. */
  private int place(String id, int from) {
    int low = from;
    int high = handed.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (handed[middle].id().compareTo(id) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** When {@link #compute} is to be called; {@link #NEVER}: not before something is told. */
  long due() {
    long at = changed ? handedAt + SETTLING : NEVER;
    if (present > 0 && !missing.isEmpty()) {
      at = Math.min(at, missing.values().iterator().next() + MISSING);
    }
    return at;
  }

  /** Why there is no set yet; empty if there is one, or nothing is known. */
  String reason() {
    if (handed.length > 0) {
      return "";
    }
    if (fault != null) {
      return fault;
    }
    if (!begun) {
      return "";
    }
    String none = "no instance of " + service + " is registered";
    return entries.isEmpty() ? none : none + ", and " + entries.size() + " entries are left out";
  }
}
