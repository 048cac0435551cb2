package com.trunkcall.stock;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.protobuf.InvalidProtocolBufferException;
import com.trunkcall.conformance.v1.ConformanceServiceGrpc;
import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** Requests that are bytes as they stand, which no generated stub sends. */
final class AsIs {
  /** All requests of a call, encoded; null if none of them is bytes. */
  static List<byte[]> requests(JsonArray requests) throws InvalidProtocolBufferException {
    List<byte[]> encoded = new ArrayList<>();
    boolean any = false;
    for (JsonElement request : requests) {
      any |= Lines.isBytes(request);
      encoded.add(
          Lines.isBytes(request) ? Lines.bytes(request) : Lines.request(request).toByteArray());
    }
    return any ? encoded : null;
  }

  /** The method of that name, without what encodes its requests. */
  @SuppressWarnings("unchecked")
  static MethodDescriptor<byte[], Object> method(String name) {
    for (MethodDescriptor<?, ?> one : ConformanceServiceGrpc.getServiceDescriptor().getMethods()) {
      if (name.equals(one.getBareMethodName())) {
        MethodDescriptor<Object, Object> method = (MethodDescriptor<Object, Object>) one;
        return method.toBuilder(new Unchanging(), method.getResponseMarshaller()).build();
      }
    }
    throw new IllegalArgumentException("there is no method " + name);
  }

  private static final class Unchanging implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
    }
  }

  private AsIs() {}
}
