package io.trunkcall.consul;

import io.trunkcall.registry.Account;
import io.trunkcall.registry.Entry;
import io.trunkcall.registry.RegistryException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a watcher knows of a service whose records are keys (registry.md 10.5). Lists of their names
 * come in, and the records of those that are new. Used by one thread.
 */
final class Listing {
  private static final Pattern NAME =
      Pattern.compile("([A-Za-z0-9_][A-Za-z0-9._-]{0,127})/[0-9a-f]{16}");
  private static final int DIGEST = 8; // bytes of it in a name
  private static final byte[] NOTHING = {};

  private final Account account = new Account();
  private final Map<String, Listed> known = new HashMap<>(); // by name
  private final Map<String, Listed> counts = new HashMap<>(); // whose record is there, by id
  private long round; // lists that have begun
  private boolean begun; // a list has come to its end
  private final List<Listed> before = new ArrayList<>(); // what the last list had
  private final List<Listed> now = new ArrayList<>(); // what this one has so far
  private int at; // where in the last list that stands which may come next
  private String last = ""; // the id of the name before
  private List<Entry> came = List.of();

  private static final class Listed {
    final String name;
    final String id;
    final boolean good; // the name is of the form
    boolean there; // its record was put
    long seen; // the last round in which it counted
    int place; // in the last list

    Listed(String name, @Nullable String own, long seen) {
      this.name = name;
      this.id = own == null ? "consul:" + name : own; // which no id is
      this.good = own != null;
      this.seen = seen;
    }

    boolean isNamed(char[] text, int from, int to) {
      boolean same = name.length() == to - from;
      for (int i = from; same && i < to; i++) {
        same = name.charAt(i - from) == text[i];
      }
      return same;
    }
  }

  /** What the key of a record ends with: another record has another name. */
  static String nameOf(String id, byte[] data) {
    try {
      byte[] sum = MessageDigest.getInstance("SHA-256").digest(data);
      return id + "/" + HexFormat.of().formatHex(sum, 0, DIGEST);
    } catch (NoSuchAlgorithmException none) { // every Java has it
      throw new IllegalStateException(none);
    }
  }

  /** The id that a name has; null if it is none, which is rubbish. */
  static @Nullable String idIn(String name) {
    Matcher form = NAME.matcher(name);
    return form.matches() ? form.group(1) : null;
  }

  /** Begins a list. */
  void begin() {
    round++;
    at = 0;
    last = "";
    came = new ArrayList<>();
  }

  /**
   * Takes the next name of a list, and says whether its record is wanted. Of several names of one
   * id, which stand together in Consul's order but for rubbish, the first counts. The empty name is
   * the folder's own.
   */
  boolean take(char[] text, int from, int to) throws RegistryException {
    if (from == to) {
      return false;
    }
    // Most stand where they stood: no text is made of them, nor looked for.
    Listed next = at < before.size() ? before.get(at) : null;
    if (next != null && next.isNamed(text, from, to)) {
      return take(next);
    }
    String name = new String(text, from, to - from);
    Listed there = known.get(name);
    return there == null ? takeNew(name) : take(there);
  }

  /** Takes one that is known, whose record is not wanted. */
  private boolean take(Listed one) {
    if (one.seen == round) {
      return false; // it is there twice
    }
    at = one.place + 1;
    if (!one.id.equals(last)) { // else another name of that id counts
      one.seen = round;
      now.add(one);
    }
    if (one.good) {
      last = one.id;
    }
    return false;
  }

  private boolean takeNew(String name) throws RegistryException {
    Listed one = new Listed(name, idIn(name), round);
    if (one.good) {
      if (one.id.equals(last)) {
        return false;
      }
      last = one.id;
    }
    known.put(name, one);
    now.add(one);
    if (!one.good) {
      put(name, NOTHING);
    }
    return one.good;
  }

  /** Takes the record of a name that was wanted in this round. */
  void put(String name, byte[] data) throws RegistryException {
    Listed one = Objects.requireNonNull(known.get(name), name);
    Entry entry = account.put(one.id, data);
    if (entry.fault() == null && !(one.good && nameOf(one.id, data).equals(name))) {
      entry = Entry.faulty(one.id, "", "the key " + name + " is not that of a record there");
    }
    one.there = true;
    counts.put(one.id, one);
    came.add(entry);
  }

  /** The entries of what was put there in this round. */
  List<Entry> came() {
    return came;
  }

  /** Whether this is the first list, which has all. */
  boolean isFirst() {
    return !begun;
  }

  /**
   * Ends a list, behind its last record, and returns the ids of those that went. Whose record had
   * gone when it was asked for is left as it was: the next list says what has become of it.
   */
  List<String> end() {
    Set<String> awaited = new HashSet<>();
    for (Listed one : now) {
      if (!one.there) {
        known.remove(one.name);
        awaited.add(one.id);
      }
    }
    if (!awaited.isEmpty()) {
      now.removeIf(one -> !one.there);
    }
    List<String> went = new ArrayList<>();
    for (Listed one : before) {
      if (one.seen == round) {
        continue;
      }
      boolean stands = counts.get(one.id) == one; // and none has taken its place
      if (stands && awaited.contains(one.id)) {
        now.add(one);
        continue;
      }
      known.remove(one.name);
      if (stands) {
        counts.remove(one.id);
        account.remove(one.id);
        went.add(one.id);
      }
    }
    before.clear();
    for (Listed one : now) {
      one.place = before.size();
      before.add(one);
    }
    now.clear();
    begun = true;
    return went;
  }
}
