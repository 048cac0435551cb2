package com.trunkcall.stock;

import com.google.gson.JsonObject;
import com.trunkcall.conformance.v1.ConformanceServiceGrpc;
import com.trunkcall.conformance.v1.ObserveRequest;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** Channels as cases want them. */
final class Channels {
  /** The framework's own limit, in bytes: gRPC's is 4 MiB. */
  private static final int MAX_MESSAGE = 64 << 20;

  /** In bytes; gRPC's is 8 KiB. */
  private static final int MAX_METADATA = 1 << 20;

  static ManagedChannel make(JsonObject one) throws IOException {
    JsonObject wanted = one.has("client") ? one.getAsJsonObject("client") : new JsonObject();
    return Grpc.newChannelBuilder(
            one.get("target").getAsString(), credentials(one.getAsJsonObject("tls")))
        .maxInboundMessageSize(
            wanted.has("maxMessage") ? wanted.get("maxMessage").getAsInt() : MAX_MESSAGE)
        .maxInboundMetadataSize(MAX_METADATA)
        .build();
  }

  /** Makes a call: the first takes a cold machine longer than cases give it. */
  static void warm(ManagedChannel channel) {
    try {
      ConformanceServiceGrpc.newBlockingStub(channel)
          .withDeadlineAfter(Carrying.LIMIT_SECONDS, TimeUnit.SECONDS)
          .observe(ObserveRequest.getDefaultInstance());
    } catch (StatusRuntimeException unreachable) {
      // The case finds that, too.
    }
  }

  private static ChannelCredentials credentials(JsonObject files) throws IOException {
    if (files == null) {
      return InsecureChannelCredentials.create();
    }
    TlsChannelCredentials.Builder made =
        TlsChannelCredentials.newBuilder().trustManager(new File(files.get("ca").getAsString()));
    if (files.has("cert")) {
      made.keyManager(
          new File(files.get("cert").getAsString()), new File(files.get("key").getAsString()));
    }
    return made.build();
  }

  private Channels() {}
}
