package io.trunkcall.lab.openfeign;

import com.trunkcall.bench.v1.BenchmarkMessage;
import feign.Headers;
import feign.RequestLine;

/** Say with messages in Protobuf. */
interface ProtobufClient {
  @RequestLine("POST /say")
  @Headers({"Content-Type: " + ProtobufCodec.TYPE, "Accept: " + ProtobufCodec.TYPE})
  BenchmarkMessage say(BenchmarkMessage request);
}
