package io.trunkcall.lab.openfeign;

import feign.Headers;
import feign.RequestLine;

/** Echo of bytes as they are. */
interface EchoClient {
  @RequestLine("POST /echo")
  @Headers({"Content-Type: application/octet-stream", "Accept: application/octet-stream"})
  byte[] echo(byte[] data);
}
