package io.trunkcall.registry;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Makes entries of what a {@link Source} finds, and bounds what it has a client hold (registry.md
 * 10.1). Used by one thread.
 */
public final class Account {
  private final Map<String, Integer> sizes = new HashMap<>(); // by id
  private long bytes;

  /** An account of nothing. */
  public Account() {}

  /**
   * The entry of what stands under an id. Data that is longer than a record is not kept, and the
   * entry says so.
   *
   * @throws RegistryException when there is too much, which is a failure of the source
   */
  public Entry put(String id, byte[] data) throws RegistryException {
    boolean tooLong = data.length > RecordWriter.MOST_RECORD;
    Entry entry =
        tooLong ? Entry.faulty(id, "", RecordWriter.tooLong(data.length)) : Entry.of(id, data);
    remove(id);
    int size = id.length() + entry.data().length;
    sizes.put(id, size);
    bytes += size;
    check(sizes.size(), bytes, EmbeddedTellings.MOST_BYTES);
    return entry;
  }

  /** Throws RegistryException for more than a watcher holds. */
  static void check(int entries, long bytes, long most) throws RegistryException {
    if (entries > EmbeddedTellings.MOST_KEYS || bytes > most) {
      throw new RegistryException(
          entries
              + " entries of "
              + bytes
              + " bytes, at most "
              + EmbeddedTellings.MOST_KEYS
              + " of "
              + most);
    }
  }

  /** Nothing stands under an id any more. */
  public void remove(String id) {
    Integer before = sizes.remove(id);
    bytes -= before == null ? 0 : before;
  }

  /** The ids under which something stands, as they are when it is looked at. */
  public Set<String> ids() {
    return Collections.unmodifiableSet(sizes.keySet());
  }
}
