package io.trunkcall.interop;

import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;

/** Over TCP. */
public class NativeInteropTest extends NativeCases {
  @Override
  protected ClientBuilder connect(int port) {
    return Client.builder("127.0.0.1:" + port);
  }
}
