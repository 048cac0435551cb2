package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.trunkcall.Metadata;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Bodies of CALL, DATA and RESULT, taken apart from left to right (protocol.md 4.1, 4.6), and of
 * DEFINE (4.4). A session has one object for all bodies, one after the other.
 */
final class Body {
  static final int MAX_NAME = 1_024;
  static final int MAX_TEXT = 1_024;

  /** The metadata; null if there is no block. */
  @Nullable Metadata metadata;

  /** The protocol's own metadata; 0: not there. */
  long attempt;

  /** How many entries the block had. */
  int counted;

  /** The inline name; null if there is none. */
  byte @Nullable [] name;

  /** The total of a cut message that begins; 0 if none does. */
  long total;

  /** The offset at which the payload begins. */
  int payload;

  /**
   * Reads the body from {@code start} to {@code end} of a frame with this type and w2.
   *
   * @throws ConnectionFault {@code piece}
   * @throws CallFault {@code metadata}, {@code metadata_limit} or {@code name}
   */
  void read(byte[] data, int start, int end, int type, int w2, boolean inMessage, Settings limits)
      throws ConnectionFault, CallFault {
    int flags = w2 >> 16 & 0xFF;
    metadata = null;
    attempt = 0;
    counted = 0;
    name = null;
    total = 0;
    payload = start;
    if ((flags & Frame.MORE) != 0 && end - start < Frame.PIECE_FLOOR) {
      throw new ConnectionFault(
          ErrorClass.PIECE,
          "a piece with MORE has a body of " + (end - start) + " bytes, not " + Frame.PIECE_FLOOR);
    }
    if ((flags & Frame.META) != 0) {
      MetadataBlock block =
          MetadataBlock.read(
              data, start, end, limits.maxMetadataBytes(), limits.maxMetadataEntries());
      metadata = block.metadata;
      attempt = block.attempt;
      counted = block.counted;
      payload = block.end;
    }
    if (type == Frame.CALL && (w2 & 0xFFFF) == 0) {
      readName(data, end);
    }
    if ((flags & Frame.MORE) != 0 && !inMessage) {
      long read = Varint.read(data, payload, end);
      if (read == Varint.UNREADABLE || Varint.value(read) < 1) {
        throw new ConnectionFault(ErrorClass.PIECE, "the total of a message is unreadable or 0");
      }
      total = Varint.value(read);
      payload = Varint.next(read);
    }
    boolean failure = type == Frame.RESULT && (w2 & 0xFFFF) != 0;
    if (payload < end && (flags & Frame.MSG) == 0 && !failure) {
      throw new ConnectionFault(
          ErrorClass.PIECE,
          (end - payload) + " bytes of payload on " + Frame.name(type) + " without MSG");
    }
  }

  private void readName(byte[] data, int end) throws CallFault {
    long read = Varint.read(data, payload, end);
    long most = Math.min(MAX_NAME, end - Varint.next(read));
    if (read == Varint.UNREADABLE || Varint.value(read) < 1 || Varint.value(read) > most) {
      throw new CallFault(ErrorClass.NAME, "the length of the method name is wrong");
    }
    int at = Varint.next(read);
    payload = at + (int) Varint.value(read);
    name = Arrays.copyOfRange(data, at, payload);
  }

  /** The name in the body of a DEFINE. */
  static byte[] readDefine(byte[] data, int start, int end) throws ConnectionFault {
    long read = Varint.read(data, start, end);
    long most = Math.min(MAX_NAME, end - Varint.next(read));
    if (read == Varint.UNREADABLE || Varint.value(read) < 1 || Varint.value(read) > most) {
      throw new ConnectionFault(ErrorClass.METHOD, "the length of the name in DEFINE is wrong");
    }
    int at = Varint.next(read) + (int) Varint.value(read);
    byte[] name = Arrays.copyOfRange(data, Varint.next(read), at);
    while (at < end) {
      int field = end - at >= 4 ? Frame.word(data, at) : 0xFFFF0000;
      int size = field >>> 16;
      if (size > end - at - 4) {
        throw new ConnectionFault(ErrorClass.METHOD, "a field of DEFINE is cut off");
      }
      if ((field & 0x8000) != 0) {
        throw new ConnectionFault(
            ErrorClass.METHOD,
            "critical field 0x" + Integer.toHexString(field & 0xFFFF) + " of DEFINE is unknown");
      }
      at += 4 + size;
    }
    return name;
  }

  /** The text of a GOAWAY, of which at most 1,024 bytes are kept (protocol.md 4.5). */
  static String text(byte[] data, int start, int end) {
    int size = end - start;
    if (size > MAX_TEXT) {
      size =
          StatusPayload.boundary(Arrays.copyOfRange(data, start, start + MAX_TEXT + 1), MAX_TEXT);
    }
    return new String(data, start, size, UTF_8);
  }
}
