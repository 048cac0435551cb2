package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.trunkcall.Code;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Takes messages out of a body: each behind five bytes, or the whole body as one. Memory grows with
 * what comes: a length that is only said costs nothing.
 */
final class Deframer {
  static final int PREFIX = 5;
  private static final int FIRST = 8 << 10; // bytes that a long message gets to begin with

  private static final byte[] NOTHING = new byte[0];

  private final Held held;
  private final boolean framed;
  private final long limit;
  private final byte[] prefix = new byte[PREFIX];
  private int seen; // of the prefix
  private long length; // of the message; -1: as long as the body
  private byte[] message = NOTHING;
  private int filled;

  /** A message that has come. */
  record Framed(int flags, byte[] bytes) {}

  /**
   * Messages of at most {@code limit} bytes, whose memory {@code held} counts; {@code known} is the
   * length of a plain body, or -1.
   */
  Deframer(Held held, boolean framed, long limit, long known) throws Refusal {
    this.held = held;
    this.framed = framed;
    this.limit = limit;
    this.length = known;
    if (!framed && known > limit) {
      throw tooLong(known);
    }
  }

  private Refusal tooLong(long size) {
    return new Refusal(
        Code.RESOURCE_EXHAUSTED, "message of " + size + " bytes exceeds max_message " + limit);
  }

  /** Whether a message has begun and is not whole. */
  boolean underWay() {
    return framed ? seen > 0 : filled > 0;
  }

  /** Takes bytes until a message is whole, which it gives; null: all were taken. */
  @Nullable Framed take(ByteBuf in) throws Refusal {
    if (!framed) {
      plain(in);
      return null;
    }
    while (seen < PREFIX) {
      if (!in.isReadable()) {
        return null;
      }
      prefix[seen++] = in.readByte();
      if (seen == PREFIX) {
        begin();
      }
    }
    int some = (int) Math.min(in.readableBytes(), length - filled);
    fill(in, some);
    if (filled < length) {
      return null;
    }
    Framed whole = new Framed(prefix[0] & 0xFF, message); // which has grown to its length at most
    held.promise(0);
    seen = 0;
    filled = 0;
    message = NOTHING;
    return whole;
  }

  private void begin() throws Refusal {
    length =
        (prefix[1] & 0xFFL) << 24
            | (prefix[2] & 0xFF) << 16
            | (prefix[3] & 0xFF) << 8
            | (prefix[4] & 0xFF);
    if (length > limit) {
      throw tooLong(length);
    }
    held.promise(length);
    int first = (int) Math.min(length, FIRST);
    held.add(first);
    message = new byte[first];
  }

  private void plain(ByteBuf in) throws Refusal {
    int some = in.readableBytes();
    if (filled + (long) some > limit) {
      throw new Refusal(
          Code.RESOURCE_EXHAUSTED, "message of more than max_message " + limit + " bytes");
    }
    if (filled == 0 && length > 0) {
      held.promise(length);
    }
    fill(in, some);
  }

  private void fill(ByteBuf in, int some) throws Refusal {
    int need = filled + some;
    if (need > message.length) {
      long most = length >= 0 ? length : limit;
      int size = (int) Math.min(Math.max(most, need), Math.max(4L * message.length, need));
      held.add(size - message.length);
      message = Arrays.copyOf(message, size);
    }
    in.readBytes(message, filled, some);
    filled = need;
  }

  /** What a plain body has come to. */
  byte[] rest() {
    byte[] whole = message.length == filled ? message : Arrays.copyOf(message, filled);
    drop();
    return whole;
  }

  /** Forgets what has come of a message that is not whole. */
  void drop() {
    message = NOTHING;
    filled = 0;
  }
}
