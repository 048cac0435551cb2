package io.trunkcall.registry;

import com.trunkcall.registry.v1.WatchAnswer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Puts answers to Watch together, and bounds what a registry may have a client hold (9.5). */
final class EmbeddedTellings {
  static final int MOST_KEYS = 100_000;
  static final long MOST_BYTES = 64 << 20;

  private final Consumer<List<Entry>> all;
  private final BiConsumer<List<Entry>, List<String>> change;
  private final Map<String, Integer> sizes = new HashMap<>(); // of records, by id
  private long bytes; // of all of them
  private boolean begun;
  private boolean within; // a telling of all that has more
  private List<Entry> gathered = new ArrayList<>(); // of that

  EmbeddedTellings(Consumer<List<Entry>> all, BiConsumer<List<Entry>, List<String>> change) {
    this.all = all;
    this.change = change;
  }

  /** Takes an answer. Throws RegistryException, which says what is wrong with it. */
  void take(WatchAnswer answer) throws RegistryException {
    boolean isAll = answer.getKind() == WatchAnswer.Kind.KIND_ALL;
    check(answer, isAll);
    if (isAll && !within) {
      sizes.clear();
      bytes = 0;
    }
    List<Entry> came = new ArrayList<>(answer.getCameCount());
    for (com.trunkcall.registry.v1.Entry one : answer.getCameList()) {
      int size = one.getRecord().size();
      if (!Names.isName(one.getId(), Names.MOST_ID) || size > RecordWriter.MOST_RECORD) {
        throw new RegistryException(
            "an entry with an id of "
                + one.getIdBytes().size()
                + " bytes and a record of "
                + size
                + ": want a name of at most 128 bytes and a record of at most 16384");
      }
      Integer before = sizes.put(one.getId(), size);
      bytes += size - (before == null ? 0 : before);
      came.add(Entry.of(one.getId(), one.getRecord().toByteArray()));
    }
    for (String id : answer.getWentList()) {
      Integer before = sizes.remove(id);
      bytes -= before == null ? 0 : before;
    }
    if (sizes.size() > MOST_KEYS || bytes > MOST_BYTES) {
      throw new RegistryException(
          sizes.size()
              + " entries of "
              + bytes
              + " bytes, at most "
              + MOST_KEYS
              + " of "
              + MOST_BYTES);
    }
    begun = true;
    within = isAll && answer.getMore();
    if (!isAll) {
      change.accept(came, answer.getWentList());
      return;
    }
    gathered.addAll(came);
    if (gathered.size() > MOST_KEYS) {
      throw new RegistryException("more than " + MOST_KEYS + " entries");
    }
    if (!within) {
      List<Entry> whole = gathered;
      gathered = new ArrayList<>();
      all.accept(whole);
    }
  }

  private void check(WatchAnswer answer, boolean isAll) throws RegistryException {
    if (answer.getKind() == WatchAnswer.Kind.UNRECOGNIZED) {
      throw new RegistryException(
          "an answer of kind " + answer.getKindValue() + ", which there is not");
    }
    if (!begun && answer.getKind() == WatchAnswer.Kind.KIND_CHANGE) {
      throw new RegistryException("a change ahead of all that there is");
    }
    if (within && !isAll) {
      throw new RegistryException("a change between parts of all that there is");
    }
  }
}
