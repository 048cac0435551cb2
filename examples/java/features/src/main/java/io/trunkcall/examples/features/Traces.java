package io.trunkcall.examples.features;

import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import io.trunkcall.Call;
import io.trunkcall.Client;
import io.trunkcall.ClientInterceptor;
import io.trunkcall.ClientStream;
import io.trunkcall.Handler;
import io.trunkcall.Metadata;
import io.trunkcall.Server;
import io.trunkcall.ServerInterceptor;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * A span of each call of any kind, at both ends, for OpenTelemetry; the trace goes from one to the
 * other in the call's metadata.
 */
public final class Traces {
  private static final W3CTraceContextPropagator W3C = W3CTraceContextPropagator.getInstance();

  /** How the library reads the metadata of a call. */
  private static final TextMapGetter<Metadata> READ =
      new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(Metadata metadata) {
          return metadata.entries().stream().map(Metadata.Entry::key).toList();
        }

        @Override
        public String get(Metadata metadata, String key) {
          return metadata == null ? null : metadata.get(key);
        }
      };

  private Traces() {}

  static ClientInterceptor atClients(Tracer tracer) {
    return (call, next) -> {
      Span span = begin(tracer, call, SpanKind.CLIENT, Context.current());
      Metadata.Builder metadata = call.metadata().toBuilder();
      W3C.inject(Context.current().with(span), metadata, Metadata.Builder::add);
      return next.proceed(call.withMetadata(metadata.build()));
    };
  }

  static ServerInterceptor atServers(Tracer tracer) {
    return (call, next) -> {
      Context caller = W3C.extract(Context.current(), call.metadata(), READ);
      Span span = begin(tracer, call, SpanKind.SERVER, caller);
      try (Scope handler = span.makeCurrent()) { // calls that the handler makes belong to it
        return next.proceed(call);
      }
    };
  }

  private static Span begin(Tracer tracer, Call call, SpanKind side, Context parent) {
    Span span =
        tracer
            .spanBuilder(call.method().name().substring(1))
            .setSpanKind(side)
            .setParent(parent)
            .startSpan();
    call.onEnd( // also of a stream, and of one that its user drops
        status -> {
          span.setAttribute("rpc.response.status_code", status.code().name());
          if (!status.ok()) {
            span.setStatus(StatusCode.ERROR, status.message());
          }
          span.end();
        });
    return span;
  }

  public static void main(String[] args) throws IOException {
    InMemorySpanExporter spans = InMemorySpanExporter.create(); // in earnest: one of OTLP
    SdkTracerProvider provider =
        SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(spans)).build();
    Tracer tracer = provider.get("example");
    Server server =
        Server.builder()
            .serverInterceptor(atServers(tracer))
            .serve(Handler.serverStream(Users.LIST, Streams::list))
            .build();
    try (Client client =
        Client.builder(server.listen("127.0.0.1:0")).clientInterceptor(atClients(tracer)).build()) {
      ListUsersRequest three = ListUsersRequest.newBuilder().setCount(3).build();
      try (ClientStream<ListUsersRequest, GetUserResponse> users = client.open(Users.LIST, three)) {
        int count = 0;
        for (GetUserResponse user : users) {
          count++;
        }
        System.out.println(count + " users");
      }
    }
    server.stop(Duration.ofSeconds(5));
    List<SpanData> all = spans.getFinishedSpanItems();
    for (SpanData span : all) {
      boolean same = span.getTraceId().equals(all.get(0).getTraceId());
      String within = span.getParentSpanContext().isValid() ? "within another" : "root";
      System.out.println(span.getKind() + " " + span.getName() + " " + within + ", " + same);
    }
    provider.close();
  }
}
