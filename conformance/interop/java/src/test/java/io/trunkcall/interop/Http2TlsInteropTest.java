package io.trunkcall.interop;

import io.grpc.ManagedChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.trunkcall.ServerBuilder;
import io.trunkcall.Tls;
import org.junit.ClassRule;

/** grpc-java's own channel, over HTTP/2 in TLS. */
public class Http2TlsInteropTest extends Cases {
  @ClassRule public static final Issued ISSUED = new Issued();

  @Override
  protected void serve(ServerBuilder builder) {
    builder.tls(Tls.of(ISSUED.certificate(), ISSUED.key()));
  }

  @Override
  protected ManagedChannelBuilder<?> channelTo(int port) throws Exception {
    return NettyChannelBuilder.forAddress("127.0.0.1", port)
        .sslContext(GrpcSslContexts.forClient().trustManager(ISSUED.authority().toFile()).build())
        .overrideAuthority("localhost")
        .maxInboundMessageSize(MAX_MESSAGE_SIZE);
  }
}
