package io.trunkcall;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A message from its decompression until it is decoded, which is to be done once. So long it has a
 * turn, or its bytes are counted: codecs that are not of this package run the user's code, which
 * may make calls, and those need turns themselves.
 */
final class Unpacked {
  private final byte[] plain;
  private final @Nullable Room room; // null: it has a turn

  private Unpacked(byte[] plain, @Nullable Room room) {
    this.plain = plain;
    this.room = room;
  }

  /**
   * Takes over the turn with which a message was decompressed.
   *
   * @throws StatusException RESOURCE_EXHAUSTED: there are too many for code of the user's
   */
  static Unpacked of(byte[] plain, Codec<?> codec, Room room) {
    if (isOurs(codec)) {
      return new Unpacked(plain, null);
    }
    try {
      room.take(plain.length);
    } finally {
      Turns.end();
    }
    return new Unpacked(plain, room);
  }

  private static boolean isOurs(Codec<?> codec) {
    return codec instanceof ProtobufCodec
        || codec instanceof RawCodec
        || (ProtobufJson.THERE && codec instanceof ProtobufJson);
  }

  /** Throws what the codec throws. */
  <T> T decoded(Codec<T> codec) {
    try {
      return codec.decode(plain, 0, plain.length);
    } finally {
      if (room == null) {
        Turns.end();
      } else {
        room.give(plain.length);
      }
    }
  }

  /** For the messages of one client or server that code of the user's decodes (limits.md 2). */
  static final class Room {
    private static final Duration LATER = Duration.ofSeconds(1); // when a call may come again

    private final long most;
    private final AtomicLong taken = new AtomicLong();

    Room(long most) {
      this.most = most;
    }

    /** One message may be longer than all the room. */
    private void take(int bytes) {
      long all = taken.addAndGet(bytes);
      if (all > most && all != bytes) {
        taken.addAndGet(-bytes);
        throw new StatusException(
            Status.of(
                    Code.RESOURCE_EXHAUSTED,
                    "messages decompressed for codecs of one's own would exceed memory " + most)
                .withRetryAfter(LATER));
      }
    }

    private void give(int bytes) {
      taken.addAndGet(-bytes);
    }
  }
}
