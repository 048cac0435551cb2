package io.trunkcall.internal.wire;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What is to be written: what was appended and not yet taken, and how much of all has been written.
 * Counts are of bytes since the beginning.
 */
final class Output {
  /** Answers owed without a slot, unsent (protocol.md 9.6). */
  private static final int OWED_LIMIT = 1_024;

  /** Unsent bytes at which senders of streams wait (limits.md 2). */
  static final long ORDINARY_LIMIT = 1 << 20;

  /** Unsent bytes while pieces enter, other calls being open (protocol.md 9.7). */
  static final long PIECES_LIMIT = 128 << 10;

  /** The same while no other call is open: a mebibyte leaves with one write. */
  static final long ONE_CALL_LIMIT = (1 << 20) + PIECES_LIMIT;

  /** A payload from here on is written from where it lies. */
  private static final int LARGE = 8 << 10;

  private static final int LEAST_BUFFER = 512;
  private static final int MOST_BUFFER = 64 << 10;
  private static final int MOST_SPARE = 4;

  /** Bytes in front of those in the buffer that are not part of a chunk yet. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Chunk(byte[] array, int offset, int length, boolean lasting) {}

  /** Answers without a slot that were taken, by the end of what was taken with them. */
  private record Owed(long end, int count) {}

  private final boolean exact;
  private byte[] buffer = new byte[LEAST_BUFFER];
  private int from; // of the buffer, what is not part of a chunk yet
  private int to;
  private final List<Chunk> chunks = new ArrayList<>();
  private final ArrayDeque<byte[]> full = new ArrayDeque<>(); // buffers that chunks lie in
  private final ArrayDeque<byte[]> free = new ArrayDeque<>(); // large arrays that chunks lie in
  private final ArrayDeque<byte[]> spare = new ArrayDeque<>(); // buffers to be used again
  private long chunked; // bytes in chunks
  private long taken;
  private long written;
  private int owedNow;
  private int owedTaken;
  private final ArrayDeque<Owed> owed = new ArrayDeque<>();

  /**
   * {@code exact} says that the transport tells exactly which bytes have left; otherwise what was
   * taken counts as passed on (protocol.md 14).
   */
  Output(boolean exact) {
    this.exact = exact;
  }

  /** The offset of the next byte to be appended. */
  long position() {
    return taken + chunked + (to - from);
  }

  /** Bytes appended that the transport has not written yet. */
  long unsent() {
    return position() - written;
  }

  /** Bytes appended and not taken. */
  long pending() {
    return chunked + (to - from);
  }

  long written() {
    return written;
  }

  /** How many bytes were passed on for certain or perhaps: a CALL behind them is not_sent. */
  long passed() {
    return exact ? written : taken;
  }

  // Appending.

  /** Appends the header of a frame whose type and length are in {@code w0}. */
  void header(int w0, int w1, int w2, int w3) {
    reserve(Frame.HEADER);
    byte[] array = buffer;
    int at = to;
    Frame.setWord(array, at, w0);
    Frame.setWord(array, at + 4, w1);
    Frame.setWord(array, at + 8, w2);
    Frame.setWord(array, at + 12, w3);
    to = at + Frame.HEADER;
  }

  /** Appends a whole frame. */
  void frame(int type, int w1, int w2, int w3, byte[] body) {
    header(type << 24 | body.length, w1, w2, w3);
    bytes(body, 0, body.length);
  }

  /** Appends a frame without a body. */
  void frame(int type, int w1, int w2, int w3) {
    header(type << 24, w1, w2, w3);
  }

  /** Appends bytes that never change. */
  void bytes(byte[] array, int offset, int length) {
    bytes(array, offset, length, true);
  }

  /** Appends bytes that do not change until they were taken; if {@code lasting}, never. */
  void bytes(byte[] array, int offset, int length, boolean lasting) {
    if (length >= LARGE) {
      seal();
      chunks.add(new Chunk(array, offset, length, lasting));
      chunked += length;
      return;
    }
    reserve(length);
    System.arraycopy(array, offset, buffer, to, length);
    to += length;
  }

  void varint(long value) {
    reserve(5);
    to = Varint.write(buffer, to, value);
  }

  private void reserve(int more) {
    if (buffer.length - to >= more) {
      return;
    }
    if (to + more <= MOST_BUFFER && from == 0) {
      int size = Math.min(Math.max(buffer.length * 2, to + more), MOST_BUFFER);
      buffer = Arrays.copyOf(buffer, size);
      return;
    }
    seal();
    full.add(buffer);
    byte[] used = spare.poll();
    buffer = used == null ? new byte[MOST_BUFFER] : used;
    from = to = 0;
  }

  /** Makes a chunk of what the buffer has. */
  private void seal() {
    if (to > from) {
      chunks.add(new Chunk(buffer, from, to - from, false));
      chunked += to - from;
      from = to;
    }
  }

  /** Once what was appended is taken, an array may be used again. */
  void free(byte[] array) {
    if (array.length >= LargeArrays.LEAST) {
      free.add(array);
    }
  }

  /** Makes room for an answer without a slot; false when too many of them are unsent. */
  boolean owe() {
    if (owedNow + owedTaken >= OWED_LIMIT) {
      return false;
    }
    owedNow++;
    return true;
  }

  // Writing.

  /** Hands over all that was appended and gives its length. */
  long take(Sink sink) {
    long size = pending();
    taken += size;
    if (!chunks.isEmpty()) {
      for (Chunk chunk : chunks) {
        sink.write(chunk.array, chunk.offset, chunk.length, chunk.lasting);
      }
      chunks.clear();
      chunked = 0;
      freeBuffers();
    }
    if (to > from) {
      sink.write(buffer, from, to - from, false);
    }
    freeArrays();
    // Who takes asks until there is nothing: that says nothing of how much there will be.
    if (size > 0 && buffer.length > LEAST_BUFFER && size < buffer.length / 8) {
      buffer = new byte[LEAST_BUFFER];
      spare.clear();
    }
    from = to = 0;
    if (owedNow > 0) {
      owed.add(new Owed(taken, owedNow));
      owedTaken += owedNow;
      owedNow = 0;
    }
    return size;
  }

  /** What lay in them was copied: a few are kept for what comes next. */
  private void freeBuffers() {
    for (byte[] one = full.poll(); one != null; one = full.poll()) {
      if (one.length == MOST_BUFFER && spare.size() < MOST_SPARE) {
        spare.add(one);
      }
    }
  }

  /** Also those whose message was short, and was copied into a buffer. */
  private void freeArrays() {
    for (byte[] one = free.poll(); one != null; one = free.poll()) {
      LargeArrays.shared().give(one);
    }
  }

  /** So many more of the bytes taken have left. */
  void wrote(long size) {
    written += size;
    for (Owed first = owed.peek(); first != null && first.end <= written; first = owed.peek()) {
      owedTaken -= first.count;
      owed.remove();
    }
  }

  /** Forgets what was appended and not taken: the connection is gone. */
  void drop() {
    chunks.clear();
    full.clear();
    free.clear();
    spare.clear();
    chunked = 0;
    from = to = 0;
    owedNow = 0;
  }
}
