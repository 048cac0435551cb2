package io.trunkcall.registry;

import io.trunkcall.Code;
import io.trunkcall.Status;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Decides what the embedded registry does (registry.md 9.2 to 9.6). It is told events, each with
 * the time in µs by a clock that does not jump, and tells calls, which its user has numbers for.
 * Used by one thread.
 */
final class RegistryCore {
  static final long LEASE = 15_000_000; // µs
  static final int TICKS = 15; // in a lease, at which it is told the time

  private static final int RENEWS = 3; // in a lease
  private static final int RESTORED = 2; // leases, after which what nobody has published goes
  private static final int MOST_PUBLISHED = 128; // records of one call

  /** Who is told, within an event, in the order in which calls began. */
  interface Teller {
    void tell(long call, Telling what);
  }

  /**
   * What a call is told.
   *
   * @param error the call ends with it
   * @param all all entries are those that came; perhaps not all, while the core is unsure
   */
  record Telling(
      @Nullable Status error, boolean answered, boolean all, List<Entry> came, List<String> went) {
    static Telling error(Code code, String text) {
      return new Telling(Status.of(code, text), false, false, List.of(), List.of());
    }

    static Telling answer() {
      return new Telling(null, true, false, List.of(), List.of());
    }

    static Telling all(List<Entry> came) {
      return new Telling(null, false, true, came, List.of());
    }
  }

  /** The most that there may be. */
  record Bounds(int keys, long bytes, int watches) {
    static final Bounds USUAL = new Bounds(100_000, 64 << 20, 10_000);
  }

  /** A record that stands there. */
  private static final class Held {
    final String service;
    final String id;
    byte[] data = new byte[0];
    int calls; // that publish it

    Held(ServiceRecord record) {
      this.service = record.service();
      this.id = record.id();
    }

    String key() {
      return service + "/" + id;
    }

    Entry entry() {
      return Entry.of(id, data);
    }
  }

  /** What there is of one service. */
  private static final class InService {
    final TreeMap<String, Held> records = new TreeMap<>(); // by id
    final TreeSet<Long> watches = new TreeSet<>();
  }

  /** A call that publishes. */
  private static final class Publishing {
    final List<Held> records = new ArrayList<>();
    long renewed;
  }

  /** What the watchers of one service are told. */
  private static final class Changes {
    final List<Entry> came = new ArrayList<>();
    final List<String> went = new ArrayList<>();
  }

  private final long lease;
  private final Bounds bounds;
  private final Teller teller;
  private final Map<String, InService> services = new HashMap<>();
  private final TreeMap<Long, Publishing> calls = new TreeMap<>();
  private final TreeMap<Long, String> watchers = new TreeMap<>(); // their services
  private final Set<Held> restored = new LinkedHashSet<>(); // what nobody has published since
  private boolean begun;
  private long last; // when it was told the time
  private long clock; // how long it ran
  private long expires; // no lease ends before
  private long settles; // when what was restored goes; 0: never
  private boolean unsure; // there may have been more than was restored
  private long version; // another one after each change of a record
  private int keys;
  private long bytes;

  RegistryCore(long lease, Bounds bounds, Teller teller) {
    this.lease = lease;
    this.bounds = bounds;
    this.teller = teller;
  }

  boolean isUnsure() {
    return unsure;
  }

  long version() {
    return version;
  }

  /** Tells it how late it is, ahead of each event, and each fifteenth of the lease. */
  void time(long at) {
    long gap = at - last;
    if (begun && gap <= lease / RENEWS) {
      clock += gap;
    }
    begun = true;
    last = at;
    if (clock >= expires) {
      expire();
    }
    if (settles != 0 && clock >= settles) {
      settle();
    }
  }

  /** Ends the calls that were not renewed. */
  private void expire() {
    expires = clock + lease;
    List<Long> late = new ArrayList<>();
    calls.forEach(
        (number, call) -> {
          long end = call.renewed + lease;
          if (end <= clock) {
            late.add(number);
          } else {
            expires = Math.min(expires, end);
          }
        });
    for (long number : late) {
      String text = "not renewed for " + lease / 1_000 + " ms";
      teller.tell(number, Telling.error(Code.ABORTED, text));
      end(number);
    }
  }

  /** Lets go of what was restored and nobody has published. */
  private void settle() {
    boolean was = unsure;
    unsure = false;
    settles = 0;
    List<Held> gone = List.copyOf(restored);
    restored.clear();
    gone.forEach(this::drop);
    if (was) {
      Map.copyOf(watchers).entrySet().stream()
          .sorted(Map.Entry.comparingByKey())
          .forEach(one -> teller.tell(one.getKey(), Telling.all(entries(one.getValue()))));
    } else {
      tellChanges(List.of(), gone);
    }
  }

  /** Takes records of before a restart, and whether those are the whole. */
  void restore(List<Written> records, boolean whole) {
    records.forEach(one -> restored.add(put(one)));
    unsure = !whole;
    settles = clock + RESTORED * lease;
  }

  /** Takes the records of a call, whose bytes are the core's from then on. */
  void publish(long number, List<byte[]> records) {
    List<Written> given = new ArrayList<>();
    Telling refused = check(records, given);
    if (refused != null) {
      teller.tell(number, refused);
      return;
    }
    List<Held> came = new ArrayList<>();
    Publishing call = new Publishing();
    call.renewed = clock;
    for (Written one : given) {
      Held before = find(one.record());
      boolean changed = before == null || !Arrays.equals(before.data, one.data());
      Held held = put(one);
      held.calls++;
      restored.remove(held);
      call.records.add(held);
      if (changed) {
        came.add(held);
      }
    }
    calls.put(number, call);
    expires = Math.min(expires, clock + lease);
    teller.tell(number, Telling.answer());
    tellChanges(came, List.of());
  }

  /** Reads the records into {@code given}; returns the first fault (9.4), null if there is none. */
  private @Nullable Telling check(List<byte[]> records, List<Written> given) {
    if (records.isEmpty() || records.size() > MOST_PUBLISHED) {
      return Telling.error(Code.INVALID_ARGUMENT, "records: want 1 to " + MOST_PUBLISHED);
    }
    Set<String> twice = new HashSet<>();
    for (int at = 0; at < records.size(); at++) {
      String fault;
      try {
        Written one = RegistryState.line(records.get(at));
        given.add(one);
        fault = twice.add(one.toString()) ? "" : one + " is there twice";
      } catch (InvalidRecordException invalid) {
        fault = String.valueOf(invalid.getMessage());
      }
      if (!fault.isEmpty()) {
        return Telling.error(Code.INVALID_ARGUMENT, "records[" + at + "]: " + fault);
      }
    }
    int moreKeys = keys;
    long moreBytes = bytes;
    for (Written one : given) {
      Held before = find(one.record());
      if (before != null && before.calls > 0) {
        try {
          one.checkReplaces(before.data);
        } catch (RegistryException taken) {
          return Telling.error(Code.ALREADY_EXISTS, String.valueOf(taken.getMessage()));
        }
      }
      moreKeys += before == null ? 1 : 0;
      moreBytes += one.data().length - (before == null ? 0 : before.data.length);
    }
    if (moreKeys > bounds.keys || moreBytes > bounds.bytes) {
      String text = "the registry is full: " + keys + " records, " + bytes + " bytes";
      return Telling.error(Code.RESOURCE_EXHAUSTED, text);
    }
    return null;
  }

  /** A call is alive. */
  void renew(long number) {
    Publishing call = calls.get(number);
    if (call != null) {
      call.renewed = clock;
      teller.tell(number, Telling.answer());
    }
  }

  /** A call is to be told of a service. */
  void watch(long number, String service) {
    if (!Names.isName(service, Names.MOST_SERVICE)) {
      teller.tell(number, Telling.error(Code.INVALID_ARGUMENT, Member.SERVICE.fault()));
      return;
    }
    if (watchers.size() >= bounds.watches) {
      String text = bounds.watches + " watches, which is the most";
      teller.tell(number, Telling.error(Code.RESOURCE_EXHAUSTED, text));
      return;
    }
    in(service).watches.add(number);
    watchers.put(number, service);
    teller.tell(number, Telling.all(entries(service)));
  }

  /** A call has ended, whatever it was. */
  void end(long number) {
    String service = watchers.remove(number);
    if (service != null) {
      in(service).watches.remove(number);
      tidy(service);
    }
    Publishing call = calls.remove(number);
    if (call == null) {
      return;
    }
    List<Held> went = new ArrayList<>();
    for (Held one : call.records) {
      if (--one.calls == 0) {
        drop(one);
        went.add(one);
      }
    }
    tellChanges(List.of(), went);
  }

  /** The entries of a service, in the order of their ids. */
  List<Entry> entries(String service) {
    InService found = services.get(service);
    return found == null ? List.of() : found.records.values().stream().map(Held::entry).toList();
  }

  /** The bytes of all records, in the order of their keys. */
  List<byte[]> records() {
    return services.values().stream()
        .flatMap(one -> one.records.values().stream())
        .sorted(Comparator.comparing(Held::key))
        .map(one -> one.data)
        .toList();
  }

  /** Tells watchers of what came and went in their services. */
  private void tellChanges(Collection<Held> came, Collection<Held> went) {
    Map<String, Changes> changes = new HashMap<>();
    for (Held one : came) {
      changes.computeIfAbsent(one.service, name -> new Changes()).came.add(one.entry());
    }
    for (Held one : went) {
      changes.computeIfAbsent(one.service, name -> new Changes()).went.add(one.id);
    }
    TreeMap<Long, Changes> told = new TreeMap<>();
    changes.forEach(
        (name, what) -> {
          InService service = services.get(name);
          if (service != null) {
            service.watches.forEach(number -> told.put(number, what));
          }
        });
    told.forEach(
        (number, what) ->
            teller.tell(number, new Telling(null, false, false, what.came, what.went)));
  }

  private InService in(String service) {
    return services.computeIfAbsent(service, name -> new InService());
  }

  /** Forgets a service of which there is nothing. */
  private void tidy(String service) {
    InService found = services.get(service);
    if (found != null && found.records.isEmpty() && found.watches.isEmpty()) {
      services.remove(service);
    }
  }

  private @Nullable Held find(ServiceRecord record) {
    InService found = services.get(record.service());
    return found == null ? null : found.records.get(record.id());
  }

  private Held put(Written one) {
    Map<String, Held> records = in(one.record().service()).records;
    Held held = records.get(one.record().id());
    if (held == null) {
      held = new Held(one.record());
      records.put(held.id, held);
      keys++;
    }
    if (!Arrays.equals(held.data, one.data())) {
      version++;
    }
    bytes += one.data().length - held.data.length;
    held.data = one.data();
    return held;
  }

  private void drop(Held held) {
    in(held.service).records.remove(held.id);
    version++;
    keys--;
    bytes -= held.data.length;
    tidy(held.service);
  }
}
