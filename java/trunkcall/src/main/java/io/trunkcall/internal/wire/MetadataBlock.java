package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.trunkcall.Metadata;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Metadata blocks (protocol.md 5): users' entries in order, and the protocol's own beside them. */
final class MetadataBlock {
  private static final String[] COMMON_KEYS = {
    "traceparent",
    "tracestate",
    "baggage",
    "authorization",
    "user-agent",
    "x-request-id",
    "x-forwarded-for",
    "b3",
    "accept-language",
    "cookie",
  };
  private static final Map<String, Integer> NUMBERS = new HashMap<>();
  private static final int ATTEMPT = 0x82;
  private static final int MAX_KEY = 255;

  static {
    for (int i = 0; i < COMMON_KEYS.length; i++) {
      NUMBERS.put(COMMON_KEYS[i], i + 1);
    }
  }

  /** Users' entries. */
  final Metadata metadata;

  /** The protocol's own: which attempt the call is; 0: not said. */
  final long attempt;

  /** How many entries the block had, dropped ones included. */
  final int counted;

  /** The offset behind the block. */
  final int end;

  private MetadataBlock(Metadata metadata, long attempt, int counted, int end) {
    this.metadata = metadata;
    this.attempt = attempt;
    this.counted = counted;
    this.end = end;
  }

  // Reading.

  /**
   * The block at {@code start} of a body that ends at {@code bodyEnd}.
   *
   * @throws CallFault {@code metadata} or {@code metadata_limit}, whichever is first from the left
   *     (protocol.md 5.5)
   */
  static MetadataBlock read(byte[] data, int start, int bodyEnd, long maxBytes, long maxEntries)
      throws CallFault {
    long read = Varint.read(data, start, bodyEnd);
    if (read == Varint.UNREADABLE || Varint.value(read) > bodyEnd - Varint.next(read)) {
      throw fault("the length of the metadata block is wrong");
    }
    long length = Varint.value(read);
    if (length > maxBytes) {
      throw new CallFault(
          ErrorClass.METADATA_LIMIT,
          "metadata of " + length + " bytes, max_metadata_bytes is " + maxBytes);
    }
    Metadata.Builder entries = Metadata.builder();
    int at = Varint.next(read);
    int end = at + (int) length;
    int counted = 0;
    long attempt = 0;
    while (at < end) {
      if (counted == maxEntries) {
        throw new CallFault(
            ErrorClass.METADATA_LIMIT,
            "metadata of more entries than max_metadata_entries, " + maxEntries);
      }
      counted++;
      int number = data[at++] & 0xFF;
      @Nullable String key = null;
      if (number == 0) {
        int size = length(data, at, end, "key");
        at += Varint.size(size);
        key = key(data, at, size);
        at += size;
      } else if (number <= COMMON_KEYS.length) {
        key = COMMON_KEYS[number - 1];
      }
      int size = length(data, at, end, "value");
      at += Varint.size(size);
      if (key != null) {
        add(entries, key, data, at, size);
      } else if (number == ATTEMPT) {
        attempt = attempt(data, at, at + size, attempt);
      }
      at += size;
    }
    return new MetadataBlock(entries.build(), attempt, counted, end);
  }

  private static CallFault fault(String text) {
    return new CallFault(ErrorClass.METADATA, text);
  }

  /** The length at an offset, of a part that ends within the block. */
  private static int length(byte[] data, int at, int end, String what) throws CallFault {
    long read = Varint.read(data, at, end);
    if (read == Varint.UNREADABLE || Varint.value(read) > end - Varint.next(read)) {
      throw fault("a metadata " + what + " is cut off or its length malformed");
    }
    return (int) Varint.value(read);
  }

  private static String key(byte[] data, int at, int size) throws CallFault {
    if (!keyLegal(data, at, size)) {
      throw fault("a metadata key of a wrong length or character");
    }
    return new String(data, at, size, ISO_8859_1);
  }

  private static boolean keyLegal(byte[] data, int at, int size) {
    if (size < 1 || size > MAX_KEY) {
      return false;
    }
    for (int i = at; i < at + size; i++) {
      byte c = data[i];
      boolean legal =
          (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
      if (!legal) {
        return false;
      }
    }
    return true;
  }

  private static boolean textLegal(byte[] data, int at, int size) {
    for (int i = at; i < at + size; i++) {
      if (data[i] < ' ' || data[i] > '~') {
        return false;
      }
    }
    return true;
  }

  private static void add(Metadata.Builder entries, String key, byte[] data, int at, int size)
      throws CallFault {
    if (key.endsWith("-bin")) {
      entries.add(key, Arrays.copyOfRange(data, at, at + size));
      return;
    }
    if (!textLegal(data, at, size)) {
      throw fault("the value of metadata key " + key + " is not text of 0x20 to 0x7E");
    }
    entries.add(key, new String(data, at, size, ISO_8859_1));
  }

  private static long attempt(byte[] data, int at, int end, long before) throws CallFault {
    long read = Varint.read(data, at, end);
    boolean whole = read != Varint.UNREADABLE && Varint.next(read) == end;
    if (before != 0 || !whole || Varint.value(read) < 1) {
      throw fault("the protocol's metadata entry 0x82 is malformed or repeated");
    }
    return Varint.value(read);
  }

  // Writing.

  /**
   * The bytes of a block, its length included, for a receiver with these settings (protocol.md
   * 5.4). {@code attempt} 0 is left out.
   *
   * @throws IllegalArgumentException for a bad key or value
   * @throws LimitException for a limit crossed
   */
  static byte[] write(Metadata metadata, long attempt, Settings peer) {
    ByteBuilder entries = new ByteBuilder();
    for (Metadata.Entry entry : metadata.entries()) {
      write(entries, entry);
    }
    int count = metadata.entries().size();
    if (attempt != 0) {
      entries.octet(ATTEMPT).varint(Varint.size(attempt)).varint(attempt);
      count++;
    }
    if (count > peer.maxMetadataEntries()) {
      throw new LimitException(
          "metadata of "
              + count
              + " entries, max_metadata_entries is "
              + peer.maxMetadataEntries());
    }
    if (entries.length() > peer.maxMetadataBytes()) {
      throw new LimitException(
          "metadata of "
              + entries.length()
              + " bytes, max_metadata_bytes is "
              + peer.maxMetadataBytes());
    }
    byte[] block = new ByteBuilder().counted(entries.build()).build();
    if (block.length * 2L >= peer.maxFrameBody()) {
      throw new LimitException(
          "metadata of "
              + block.length
              + " bytes, half of max_frame_body is "
              + peer.maxFrameBody() / 2);
    }
    return block;
  }

  private static void write(ByteBuilder entries, Metadata.Entry entry) {
    String key = entry.key();
    byte @Nullable [] spelled = latin(key);
    if (spelled == null || !keyLegal(spelled, 0, spelled.length)) {
      throw new IllegalArgumentException(
          "metadata key \"" + key + "\": 1 to 255 of a-z, 0-9, _, ., -");
    }
    String text = entry.text();
    byte @Nullable [] value;
    if (key.endsWith("-bin")) {
      value = entry.bytes();
      if (value == null) {
        throw new IllegalArgumentException("metadata key \"" + key + "\" takes bytes");
      }
    } else {
      value = text == null ? null : latin(text);
      if (value == null || !textLegal(value, 0, value.length)) {
        throw new IllegalArgumentException(
            "metadata key \"" + key + "\" takes text of 0x20 to 0x7E");
      }
    }
    Integer number = NUMBERS.get(key);
    if (number != null) {
      entries.octet(number);
    } else {
      entries.octet(0).counted(spelled);
    }
    entries.counted(value);
  }

  /** The bytes of a text whose characters are all below 0x100, else null. */
  private static byte @Nullable [] latin(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) > 0xFF) {
        return null;
      }
    }
    return text.getBytes(ISO_8859_1);
  }
}
