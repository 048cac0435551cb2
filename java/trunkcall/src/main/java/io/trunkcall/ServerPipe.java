package io.trunkcall;

import io.trunkcall.internal.transport.Line;
import io.trunkcall.internal.wire.Exchange;
import io.trunkcall.internal.wire.Message;
import org.jspecify.annotations.Nullable;

/** The messages of a call at the side that serves it. */
final class ServerPipe extends Pipe {
  private static final Ending ALL = new Ending(null);

  private final ServingCall call;
  private final Exchange incoming;
  private final Line line;
  private final Served served;
  private volatile int compression; // of the last request

  ServerPipe(ServingCall call, Exchange incoming, Line line, Served served) {
    this.call = call;
    this.incoming = incoming;
    this.line = line;
    this.served = served;
    this.compression = incoming.compression();
  }

  @Override
  void hand(Runnable work) {
    line.submit(work);
  }

  @Override
  void handBehind(Runnable work) {
    line.submit(work);
  }

  @Override
  Output encoded(Object message) {
    Codec<Object> codec = served.response(incoming.codec());
    if (codec == null) {
      throw new StatusException(Code.UNIMPLEMENTED, "there is no codec for the answer");
    }
    Output out = new Output();
    try {
      codec.encode(message, out);
      return out;
    } catch (RuntimeException e) {
      throw new StatusException(Outcomes.unencodable(call, codec.name(), e));
    }
  }

  @Override
  Object decoded(Got message) {
    Codec<Object> codec = served.request(incoming.codec());
    if (codec == null) {
      throw new StatusException(Code.UNIMPLEMENTED, "there is no codec for the request");
    }
    compression = message.compression;
    byte[] array = message.array;
    int length = message.length;
    try {
      if (compression != 0) {
        return call.unpacked(array, length, compression, codec).decoded(codec);
      }
      return message.own()
          ? InPlaceCodec.decoded(codec, array, length)
          : codec.decode(array, 0, length);
    } catch (StatusException e) {
      Status status = Status.of(e.code(), "the request: " + e.status().message());
      throw new StatusException(status.withRetryAfter(e.status().retryAfter()));
    } catch (RuntimeException e) {
      throw new StatusException(
          Code.INVALID_ARGUMENT,
          "the request is not a valid " + codec.name() + " message: " + e.getMessage());
    }
  }

  @Override
  @Nullable Output packed(Output message) {
    return call.packed(message, compression);
  }

  @Override
  boolean accepts(int one) {
    return incoming.accepts(one);
  }

  @Override
  boolean pass(Output message, int in) {
    call.flushHeaders();
    return incoming.sendOwn(message.array(), 0, message.length(), in);
  }

  @Override
  void passHalfClose() {}

  @Override
  void unsendable(RuntimeException error) {
    call.overrule(error);
  }

  @Override
  @Nullable Message take() {
    return incoming.takeAhead();
  }

  @Override
  void received(long bytes) {
    incoming.received(bytes);
  }

  @Override
  int ahead() {
    return incoming.ahead();
  }

  @Override
  @Nullable Ending ended() {
    if (incoming.requestEnded()) {
      return ALL;
    }
    if (incoming.over() || call.isStopped()) {
      return new Ending(Failures.local(Code.CANCELLED, "the call is over", Delivery.UNKNOWN));
    }
    return null;
  }

  @Override
  void schedule() {
    line.schedule();
  }

  @Override
  boolean isOver() {
    return incoming.over() || call.isStopped() || call.isOverruled();
  }
}
