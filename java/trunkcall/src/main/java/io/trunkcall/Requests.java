package io.trunkcall;

import io.trunkcall.internal.wire.Exchange;
import io.trunkcall.internal.wire.LargeArrays;
import io.trunkcall.internal.wire.Message;
import org.jspecify.annotations.Nullable;

/** Requests of calls that this side serves, from their bytes. */
final class Requests {
  private Requests() {}

  /**
   * The request that has come with a call; null if none has.
   *
   * @throws StatusException with which the call is to be refused
   */
  static @Nullable Object decoded(Served served, Exchange incoming, Packing packing) {
    Message own = incoming.ownMessage();
    byte[] message = own == null ? incoming.message() : own.array();
    Codec<Object> codec = served.request(incoming.codec());
    if (message == null || codec == null) {
      return null;
    }
    int length = own == null ? message.length : own.length();
    int compression = incoming.compression();
    Unpacked plain = null;
    try {
      if (compression != 0) {
        plain = packing.unpacked(message, 0, length, compression, 0, codec);
      }
    } catch (StatusException e) {
      Status why = Status.of(e.code(), "the request: " + e.status().message());
      throw new StatusException(why.withRetryAfter(e.status().retryAfter()));
    } catch (RuntimeException e) {
      throw undecodable(codec, e);
    }
    try {
      Object request = plain == null ? codec.decode(message, 0, length) : plain.decoded(codec);
      if (own != null) {
        LargeArrays.shared().give(message);
      }
      return request;
    } catch (StatusException e) { // whose words are the codec's own
      throw new StatusException(e.code(), e.status().message());
    } catch (RuntimeException e) {
      throw undecodable(codec, e);
    }
  }

  private static StatusException undecodable(Codec<?> codec, RuntimeException why) {
    return new StatusException(
        Code.INVALID_ARGUMENT,
        "the request is not a valid " + codec.name() + " message: " + why.getMessage());
  }
}
