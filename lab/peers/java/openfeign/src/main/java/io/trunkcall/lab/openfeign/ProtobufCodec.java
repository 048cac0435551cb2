package io.trunkcall.lab.openfeign;

import com.trunkcall.bench.v1.BenchmarkMessage;
import feign.RequestTemplate;
import feign.Response;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Type;

/** Protobuf messages as bodies, as Feign wants its codecs. */
final class ProtobufCodec {
  static final String TYPE = "application/x-protobuf";

  private ProtobufCodec() {}

  static void encode(Object message, Type type, RequestTemplate request) {
    request.body(((BenchmarkMessage) message).toByteArray(), null);
  }

  static Object decode(Response response, Type type) throws IOException {
    try (InputStream body = response.body().asInputStream()) {
      return BenchmarkMessage.parseFrom(body);
    }
  }
}
