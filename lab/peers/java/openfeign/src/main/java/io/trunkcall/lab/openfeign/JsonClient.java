package io.trunkcall.lab.openfeign;

import feign.Headers;
import feign.RequestLine;

/** Say with messages in JSON. */
interface JsonClient {
  @RequestLine("POST /say")
  @Headers({"Content-Type: application/json", "Accept: application/json"})
  JsonMessage say(JsonMessage request);
}
