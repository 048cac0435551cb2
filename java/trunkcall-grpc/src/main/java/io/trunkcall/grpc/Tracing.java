package io.trunkcall.grpc;

import io.grpc.CallOptions;
import io.grpc.ClientStreamTracer;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StreamTracer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** The tracers of one call: what instruments grpc-java, such as OpenTelemetry's metrics. */
final class Tracing {
  /** Of calls that have none. */
  static final Tracing NONE = new Tracing(new ClientStreamTracer[0]);

  private final ClientStreamTracer[] tracers;
  private final AtomicBoolean closed = new AtomicBoolean();
  private int sent; // by the thread that sends
  private int received; // by the one that receives

  private Tracing(ClientStreamTracer[] tracers) {
    this.tracers = tracers;
  }

  static Tracing of(CallOptions options, Metadata headers) {
    List<ClientStreamTracer.Factory> factories = options.getStreamTracerFactories();
    if (factories.isEmpty()) {
      return NONE;
    }
    ClientStreamTracer.StreamInfo info =
        ClientStreamTracer.StreamInfo.newBuilder().setCallOptions(options).build();
    return new Tracing(
        factories.stream()
            .map(factory -> factory.newClientStreamTracer(info, headers))
            .toArray(ClientStreamTracer[]::new));
  }

  boolean isEmpty() {
    return tracers.length == 0;
  }

  void began() {
    for (ClientStreamTracer one : tracers) {
      one.outboundHeaders();
    }
  }

  void sent(int bytes) {
    for (StreamTracer one : tracers) {
      one.outboundMessage(sent);
      one.outboundMessageSent(sent, bytes, bytes);
      one.outboundUncompressedSize(bytes);
      one.outboundWireSize(bytes);
    }
    sent++;
  }

  void received(int bytes) {
    for (StreamTracer one : tracers) {
      one.inboundMessage(received);
      one.inboundMessageRead(received, bytes, bytes);
      one.inboundUncompressedSize(bytes);
      one.inboundWireSize(bytes);
    }
    received++;
  }

  void headers(Metadata headers) {
    for (ClientStreamTracer one : tracers) {
      one.inboundHeaders(headers);
    }
  }

  void ended(Status status, Metadata trailers) {
    if (tracers.length == 0 || closed.getAndSet(true)) {
      return;
    }
    for (ClientStreamTracer one : tracers) {
      one.inboundTrailers(trailers);
      one.streamClosed(status);
    }
  }
}
