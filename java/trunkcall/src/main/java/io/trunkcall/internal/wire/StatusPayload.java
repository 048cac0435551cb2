package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.trunkcall.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The payload of a RESULT with a status other than OK (protocol.md 6). */
final class StatusPayload {
  /** The message of a status whose payload is malformed. */
  static final String MALFORMED = "malformed status payload";

  /** The most milliseconds, or microseconds, that a frame can tell. */
  static final long LONGEST = 0xFFFFFFFFL;

  final String message;
  final List<Status.Detail> details;

  private StatusPayload(String message, List<Status.Detail> details) {
    this.message = message;
    this.details = details;
  }

  /**
   * Message and details of the payload from {@code start} to {@code end}.
   *
   * @throws CallFault {@code status}
   */
  static StatusPayload read(byte[] data, int start, int end) throws CallFault {
    if (start == end) {
      return new StatusPayload("", List.of());
    }
    int size = length(data, start, end);
    int at = start + Varint.size(size);
    String message = new String(data, at, size, UTF_8);
    at += size;
    long read = Varint.read(data, at, end);
    if (read == Varint.UNREADABLE) {
      throw new CallFault(ErrorClass.STATUS, "the number of details is unreadable");
    }
    at = Varint.next(read);
    List<Status.Detail> details = new ArrayList<>();
    while (details.size() < Varint.value(read)) {
      size = length(data, at, end);
      at += Varint.size(size);
      String url = new String(data, at, size, UTF_8);
      at += size;
      size = length(data, at, end);
      at += Varint.size(size);
      details.add(new Status.Detail(url, Arrays.copyOfRange(data, at, at + size)));
      at += size;
    }
    if (at != end) {
      throw new CallFault(ErrorClass.STATUS, "bytes behind the last detail");
    }
    return new StatusPayload(message, List.copyOf(details));
  }

  private static int length(byte[] data, int at, int end) throws CallFault {
    long read = Varint.read(data, at, end);
    if (read == Varint.UNREADABLE || Varint.value(read) > end - Varint.next(read)) {
      throw new CallFault(ErrorClass.STATUS, "a part is cut off or its length malformed");
    }
    return (int) Varint.value(read);
  }

  /** The payload, whatever its length. */
  static byte[] write(String message, List<Status.Detail> details) {
    if (message.isEmpty() && details.isEmpty()) {
      return OutgoingCall.NO_BYTES;
    }
    ByteBuilder payload = new ByteBuilder().counted(message.getBytes(UTF_8));
    payload.varint(details.size());
    for (Status.Detail detail : details) {
      payload.counted(detail.typeUrl().getBytes(UTF_8)).counted(detail.value());
    }
    return payload.build();
  }

  /** A payload of at most {@code room} bytes: the message alone, shortened if need be. */
  static byte[] shorten(String message, int room) {
    byte[] text = message.getBytes(UTF_8);
    int size = Math.min(text.length, Math.max(room - 6, 0));
    size = boundary(text, size);
    return new ByteBuilder().varint(size).bytes(text, size).octet(0).build();
  }

  /** The last character boundary of a text within its first {@code size} bytes. */
  static int boundary(byte[] text, int size) {
    int at = size;
    while (at > 0 && at > size - 4 && at < text.length && (text[at] & 0xC0) == 0x80) {
      at--;
    }
    return at;
  }

  /**
   * A time to come back, as RESULT tells it, in milliseconds: the nearest that can be told, but 0
   * for none alone.
   */
  static int milliseconds(Duration time) {
    if (time.getSeconds() >= LONGEST / 1_000) {
      return (int) LONGEST;
    }
    return (int) (time.getSeconds() * 1_000 + (time.getNano() + 999_999) / 1_000_000);
  }
}
