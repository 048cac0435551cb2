package io.trunkcall.registries;

import com.google.protobuf.InvalidProtocolBufferException;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.HandlerRegistry;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Answers Range with bytes of a test's, and a watch with others; then it ends the watch. It listens
 * on the loopback interface.
 */
final class PlayedEtcd {
  static final String OVER = "the test is over";

  volatile byte[] range = {};
  volatile byte[] told = {}; // none: nothing is told
  volatile boolean ends = true; // the watch, once that was told
  private final AtomicInteger watched = new AtomicInteger();
  private final Server server;

  PlayedEtcd() throws IOException {
    this.server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .fallbackHandlerRegistry(new Methods())
            .directExecutor()
            .build()
            .start();
  }

  int port() {
    return server.getPort();
  }

  /** How often somebody has begun to watch. */
  int watched() {
    return watched.get();
  }

  void close() throws InterruptedException {
    server.shutdownNow().awaitTermination(30, TimeUnit.SECONDS);
  }

  /** Bytes as they are. */
  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException fault) {
        throw new UncheckedIOException(fault);
      }
    }
  }

  private final class Methods extends HandlerRegistry {
    @Override
    public ServerMethodDefinition<?, ?> lookupMethod(String name, @Nullable String authority) {
      Bytes bytes = new Bytes();
      MethodDescriptor<byte[], byte[]> method =
          MethodDescriptor.newBuilder(bytes, bytes)
              .setFullMethodName(name)
              .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
              .build();
      return ServerMethodDefinition.create(
          method, (call, metadata) -> serve(call, name.endsWith("/Watch")));
    }
  }

  private ServerCall.Listener<byte[]> serve(ServerCall<byte[], byte[]> call, boolean watch) {
    call.request(2);
    call.sendHeaders(new Metadata());
    return new ServerCall.Listener<>() {
      @Override
      public void onMessage(byte[] asked) {
        call.request(1);
        if (watch) {
          watch(call, asked);
        } else {
          call.sendMessage(range);
          call.close(Status.OK, new Metadata());
        }
      }
    };
  }

  private void watch(ServerCall<byte[], byte[]> call, byte[] asked) {
    try {
      if (!WatchRequest.parseFrom(asked).hasCreateRequest()) {
        return;
      }
    } catch (InvalidProtocolBufferException never) {
      throw new UncheckedIOException(never);
    }
    watched.incrementAndGet();
    WatchResponse begun =
        WatchResponse.newBuilder()
            .setHeader(ResponseHeader.newBuilder().setClusterId(5).setRevision(3))
            .build();
    call.sendMessage(begun.toBuilder().setCreated(true).build().toByteArray());
    if (told.length > 0) {
      call.sendMessage(told);
    }
    if (ends) {
      call.sendMessage(
          begun.toBuilder().setCanceled(true).setCancelReason(OVER).build().toByteArray());
    }
  }
}
