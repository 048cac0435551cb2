package io.trunkcall.grpc;

import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Output;
import io.trunkcall.StatusException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;

/**
 * What a marshaller of grpc-java makes of messages. On the wire it is Protobuf (protocol.md 3.8).
 */
class StubCodec<T> implements Codec<T> {
  static final int PROTOBUF = 1;
  private static final int CHUNK = 4 << 10; // read at a time where the length is not known

  private final MethodDescriptor.Marshaller<T> marshaller;
  private final MethodDescriptor<?, ?> descriptor;

  StubCodec(MethodDescriptor.Marshaller<T> marshaller, MethodDescriptor<?, ?> descriptor) {
    this.marshaller = marshaller;
    this.descriptor = descriptor;
  }

  StubCodec(StubCodec<T> same) {
    this(same.marshaller, same.descriptor);
  }

  /** The method whose messages these are. */
  MethodDescriptor<?, ?> descriptor() {
    return descriptor;
  }

  @Override
  public int number() {
    return PROTOBUF;
  }

  @Override
  public String name() {
    return "protobuf";
  }

  @Override
  public void encode(T message, Output out) {
    try (InputStream from = marshaller.stream(message)) {
      if (from instanceof KnownLength) {
        out.ensure(from.available()); // a message of Protobuf writes itself into that
      }
      while (true) {
        int room = out.array().length - out.length();
        if (room == 0) {
          int one = from.read();
          if (one < 0) {
            return;
          }
          out.ensure(CHUNK);
          out.write(one);
          continue;
        }
        int count = from.read(out.array(), out.length(), room);
        if (count < 0) {
          return;
        }
        out.length(out.length() + count);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public T decode(byte[] array, int offset, int length) {
    try (Bytes bytes = new Bytes(array, offset, length)) {
      T message = marshaller.parse(bytes);
      if (message instanceof InputStream || bytes.available() > 0) {
        bytes.keep();
      }
      return message;
    } catch (StatusRuntimeException e) { // its code is for gRPC, where the side is not known
      String text = e.getStatus().getDescription();
      Throwable cause = e.getStatus().getCause();
      throw new IllegalArgumentException(
          (text == null ? "" : text) + (cause == null ? "" : ": " + cause.getMessage()), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Bytes extends ByteArrayInputStream implements KnownLength {
    Bytes(byte[] array, int offset, int length) {
      super(array, offset, length);
    }

    /** Has what is read later read from a copy: the array belongs to others then. */
    synchronized void keep() {
      buf = Arrays.copyOfRange(buf, mark, count);
      count -= mark;
      pos -= mark;
      mark = 0;
    }
  }

  /** The same for one call, whose messages have a limit, or whose tracers want to know of them. */
  static final class OfCall<T> extends StubCodec<T> {
    private final int limit; // of what is decoded
    private final Tracing tracing;

    OfCall(StubCodec<T> same, int limit, Tracing tracing) {
      super(same);
      this.limit = limit;
      this.tracing = tracing;
    }

    @Override
    public void encode(T message, Output out) {
      int before = out.length();
      super.encode(message, out);
      tracing.sent(out.length() - before);
    }

    @Override
    public T decode(byte[] array, int offset, int length) {
      if (length > limit) {
        throw new StatusException(
            Code.RESOURCE_EXHAUSTED,
            "a message of " + length + " bytes exceeds maximum size " + limit + " of the call");
      }
      T message = super.decode(array, offset, length);
      tracing.received(length);
      return message;
    }
  }
}
