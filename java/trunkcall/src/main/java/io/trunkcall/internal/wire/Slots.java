package io.trunkcall.internal.wire;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The slots of this side's own calls, and the ids of their methods (protocol.md 7.1, 8). */
final class Slots {
  /** Names beyond so many in a process are found by hashing alone. */
  private static final int INDEXED = 1 << 16;

  private final Session session;
  private final int ownBit;
  private final BitSet taken = new BitSet();
  private int lowest = 1; // no slot below is free
  private int most;
  private int[] words = new int[0]; // w1 of the next call on each slot
  @Nullable OutgoingCall[] calls = new OutgoingCall[0]; // by slot
  private final Map<String, Integer> ids = new HashMap<>();
  private int[] idByIndex = new int[0];

  Slots(Session session, int ownBit, int most) {
    this.session = session;
    this.ownBit = ownBit;
    this.most = most;
  }

  /** Whether a slot is free. */
  boolean ready() {
    lowest = taken.nextClearBit(lowest);
    return lowest <= most;
  }

  /** The word of the next call on the lowest free slot, which is there. Its call is put there. */
  int next() {
    int slot = lowest;
    if (slot >= words.length) {
      grow(slot);
    }
    return words[slot];
  }

  private void grow(int slot) {
    int before = words.length;
    int size = Math.max(slot + 1, Math.max(16, before * 2));
    words = Arrays.copyOf(words, size);
    for (int i = before; i < size; i++) {
      words[i] = ownBit | Frame.FIRST_GENERATION | i;
    }
    calls = Arrays.copyOf(calls, size);
  }

  /** Takes the slot of a call. */
  void put(OutgoingCall call) {
    int slot = call.id & Frame.SLOT;
    calls[slot] = call;
    taken.set(slot);
  }

  /** The open call of a word, abandoned ones included. */
  @Nullable OutgoingCall find(int word) {
    int slot = word & Frame.SLOT;
    OutgoingCall call = slot < calls.length ? calls[slot] : null;
    return call != null && call.id == word ? call : null;
  }

  /** RESULT has come: the slot is free for the next generation. */
  void free(int word) {
    int slot = word & Frame.SLOT;
    calls[slot] = null;
    words[slot] = Frame.nextGeneration(word);
    taken.clear(slot);
    lowest = Math.min(lowest, slot);
  }

  /** Forgets all calls: no RESULT comes any more. */
  void clear() {
    Arrays.fill(calls, null);
  }

  /** The peer has told how many slots there are. */
  void told(int most) {
    this.most = most;
  }

  /** The id of a name that has one, else 0. */
  int knownId(MethodName name) {
    return name.index < idByIndex.length ? idByIndex[name.index] : 0;
  }

  /** The id of a name, defined now if need be; 0 when the table is full (protocol.md 8). */
  int id(MethodName name) {
    int known = knownId(name);
    if (known != 0) {
      return known;
    }
    Integer found = ids.get(name.text());
    if (found == null) {
      if (ids.size() >= session.peer.maxMethods()) {
        return 0;
      }
      found = ids.size() + 1;
      ids.put(name.text(), found);
      byte[] body = new ByteBuilder().counted(name.bytes).build();
      session.output.frame(Frame.DEFINE, 0, found, 0, body);
    }
    if (name.index < INDEXED) {
      if (name.index >= idByIndex.length) {
        idByIndex = Arrays.copyOf(idByIndex, Math.max(name.index + 1, 2 * idByIndex.length));
      }
      idByIndex[name.index] = found;
    }
    return found;
  }
}
