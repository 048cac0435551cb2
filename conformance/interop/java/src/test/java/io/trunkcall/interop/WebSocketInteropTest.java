package io.trunkcall.interop;

import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;

/** Over a WebSocket. */
public class WebSocketInteropTest extends NativeCases {
  @Override
  protected ClientBuilder connect(int port) {
    return Client.builder("ws://127.0.0.1:" + port + "/");
  }
}
