package io.trunkcall;

/** Requests and responses of calls that this side makes, to bytes and from them. */
final class Responses {
  private Responses() {}

  /** Throws StatusException. */
  static <Q> Output encoded(Method<Q, ?> method, Q request, Delivery delivery) {
    Output out = new Output();
    Codec<Q> codec = method.request();
    try {
      codec.encode(request, out);
      return out;
    } catch (StatusException e) {
      throw Failures.local(e.code(), e.status().message(), delivery);
    } catch (RuntimeException e) {
      StatusException failure =
          Failures.local(
              Code.INTERNAL,
              "the request of "
                  + method.name()
                  + (request == null
                      ? " is null"
                      : " is not a valid " + codec.name() + " message: " + Failures.spelled(e)),
              delivery);
      failure.initCause(e);
      throw failure;
    }
  }

  /**
   * Throws StatusException. {@code most}: the call's own limit, 0 for none; {@code own}: nobody
   * else has the array, which the message may keep.
   */
  static <R> R decoded(
      Codec<R> codec,
      byte[] array,
      int offset,
      int length,
      boolean own,
      int compression,
      int most,
      Packing packing,
      Delivery delivery) {
    try {
      if (most > 0 && length > most) {
        throw new StatusException(
            Code.RESOURCE_EXHAUSTED, "it has " + length + " bytes, above the call's limit " + most);
      }
      if (compression == 0) {
        return own
            ? InPlaceCodec.decoded(codec, array, length)
            : codec.decode(array, offset, length);
      }
      return packing.unpacked(array, offset, length, compression, most, codec).decoded(codec);
    } catch (StatusException e) {
      throw Failures.local(e.code(), "the response: " + e.status().message(), delivery);
    } catch (RuntimeException | Error e) { // on a loop nobody else would end the call
      StatusException failure =
          Failures.local(
              Code.INTERNAL,
              "the response is not a valid " + codec.name() + " message: " + e.getMessage(),
              delivery);
      failure.initCause(e);
      throw failure;
    }
  }
}
