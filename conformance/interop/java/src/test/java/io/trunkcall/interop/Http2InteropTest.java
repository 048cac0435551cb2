package io.trunkcall.interop;

import io.grpc.ManagedChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;

/** grpc-java's own channel, over HTTP/2 in the clear. */
public class Http2InteropTest extends Cases {
  @Override
  protected ManagedChannelBuilder<?> channelTo(int port) {
    return NettyChannelBuilder.forAddress("127.0.0.1", port)
        .usePlaintext()
        .maxInboundMessageSize(MAX_MESSAGE_SIZE);
  }
}
