package io.trunkcall.grpc;

import io.grpc.MethodDescriptor;
import io.trunkcall.Kind;
import io.trunkcall.Method;
import java.util.concurrent.ConcurrentHashMap;

/** The methods of Trunkcall that stand for those of gRPC. */
final class Methods {
  private static final int MOST = 1_000; // kept; a program that makes descriptors makes them anew

  /** A method with its codecs. */
  record Known<Q, R>(Method<Q, R> method, StubCodec<Q> requests, StubCodec<R> responses) {
    /** The same for one call. */
    Method<Q, R> ofCall(int limit, Tracing tracing) {
      return make(
          method.name(),
          method.kind(),
          new StubCodec.OfCall<>(requests, Integer.MAX_VALUE, tracing),
          new StubCodec.OfCall<>(responses, limit, tracing));
    }
  }

  private final ConcurrentHashMap<MethodDescriptor<?, ?>, Known<?, ?>> known =
      new ConcurrentHashMap<>();

  @SuppressWarnings("unchecked")
  <Q, R> Known<Q, R> of(MethodDescriptor<Q, R> descriptor) {
    Known<?, ?> found = known.get(descriptor);
    if (found == null) {
      if (known.size() >= MOST) {
        known.clear();
      }
      found = made(descriptor);
      known.put(descriptor, found);
    }
    return (Known<Q, R>) found;
  }

  static <Q, R> Known<Q, R> made(MethodDescriptor<Q, R> descriptor) {
    StubCodec<Q> requests = new StubCodec<>(descriptor.getRequestMarshaller(), descriptor);
    StubCodec<R> responses = new StubCodec<>(descriptor.getResponseMarshaller(), descriptor);
    String name = "/" + descriptor.getFullMethodName();
    return new Known<>(make(name, kind(descriptor), requests, responses), requests, responses);
  }

  private static <Q, R> Method<Q, R> make(
      String name, Kind kind, StubCodec<Q> requests, StubCodec<R> responses) {
    return switch (kind) {
      case SERVER_STREAM -> Method.serverStream(name, requests, responses);
      case CLIENT_STREAM -> Method.clientStream(name, requests, responses);
      case BIDI_STREAM -> Method.bidiStream(name, requests, responses);
      default -> Method.unary(name, requests, responses);
    };
  }

  private static Kind kind(MethodDescriptor<?, ?> descriptor) {
    return switch (descriptor.getType()) {
      case UNARY -> Kind.UNARY;
      case SERVER_STREAMING -> Kind.SERVER_STREAM;
      case CLIENT_STREAMING -> Kind.CLIENT_STREAM;
      case BIDI_STREAMING, UNKNOWN -> Kind.BIDI_STREAM;
    };
  }
}
