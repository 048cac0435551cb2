package io.trunkcall.peer.publicsuite;

import com.google.protobuf.ByteString;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Compression;
import io.trunkcall.Limits;
import io.trunkcall.Metadata;
import io.trunkcall.Method;
import io.trunkcall.Response;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.Tls;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** A call that is asked for, and what came of it. */
final class WantedCall {
  // The suite's numbers of kinds of streams, and of compressions.
  private static final int UNARY = 1;
  private static final int CLIENT_STREAM = 2;
  private static final int SERVER_STREAM = 3;
  private static final int FULL_DUPLEX = 5;
  private static final int GZIP = 2;

  private final Parts wanted;
  private final int streams;
  private final List<DynamicMessage> requests = new ArrayList<>();
  private final Method<DynamicMessage, DynamicMessage> method;
  private final Made result;
  private int answers;

  WantedCall(Schema schema, Parts wanted) throws IOException {
    this.wanted = wanted;
    this.streams = wanted.choice("stream_type");
    for (Parts packed : wanted.parts("request_messages")) {
      requests.add(schema.unpacked(packed));
    }
    this.method = method(schema);
    this.result = schema.make("ClientResponseResult");
  }

  private Method<DynamicMessage, DynamicMessage> method(Schema schema) {
    String bare = wanted.text("method");
    String service = wanted.text("service");
    String name = (service.isEmpty() ? SuiteService.NAME : "/" + service) + "/" + bare;
    Codec<DynamicMessage> request = Codec.protobuf(schema.empty(bare + "Request"));
    Codec<DynamicMessage> response = Codec.protobuf(schema.empty(bare + "Response"));
    return switch (streams) {
      case UNARY -> Method.unary(name, request, response);
      case CLIENT_STREAM -> Method.clientStream(name, request, response);
      case SERVER_STREAM -> Method.serverStream(name, request, response);
      default -> Method.bidiStream(name, request, response);
    };
  }

  /** Makes the call. What it throws says why it could not even be made. */
  Message carryOut() throws IOException, InterruptedException, ExecutionException {
    CallOptions options =
        CallOptions.NONE.withMetadata(Headers.metadata(wanted.parts("request_headers")));
    if (wanted.has("timeout_ms")) {
      options = options.withTimeout(millis(wanted, "timeout_ms"));
    }
    try (Client client = client()) {
      connect(client); // the server tells of the time that a call has left
      if (streams == UNARY) {
        unary(client, options);
      } else {
        stream(client, options);
      }
    } catch (StatusException failed) {
      fail(failed.status());
    }
    return result.message();
  }

  private static void connect(Client client) throws InterruptedException, ExecutionException {
    try {
      client.connect().get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StatusException failed) {
        throw failed;
      }
      throw e;
    }
  }

  private static Duration millis(Parts parts, String field) {
    return Duration.ofMillis(Integer.toUnsignedLong(parts.number(field)));
  }

  private Client client() throws IOException {
    ClientBuilder builder =
        Client.builder(wanted.text("host") + ":" + Integer.toUnsignedString(wanted.number("port")));
    int most = wanted.number("message_receive_limit");
    if (most != 0) {
      builder.limits(Limits.DEFAULTS.withMessageBytes(Integer.toUnsignedLong(most)));
    }
    if (wanted.choice("compression") == GZIP) {
      builder.compression(Compression.gzip());
    }
    if (!wanted.bytes("server_tls_cert").isEmpty()) {
      builder.tls(tls());
    }
    return builder.build();
  }

  private Tls tls() throws IOException {
    PemFiles files = new PemFiles();
    Path trusted = files.write("ca.pem", wanted.bytes("server_tls_cert"));
    if (!wanted.has("client_tls_creds")) {
      return Tls.trusting(trusted);
    }
    Parts own = wanted.part("client_tls_creds");
    return Tls.mutual(
        trusted,
        files.write("cert.pem", own.bytes("cert")),
        files.write("key.pem", own.bytes("key")));
  }

  private static void await(Duration time) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(time.toNanos());
  }

  private Duration delay() {
    return millis(wanted, "request_delay_ms");
  }

  private Duration afterLastRequest() {
    return millis(wanted.part("cancel"), "after_close_send_ms");
  }

  private void unary(Client client, CallOptions options)
      throws InterruptedException, ExecutionException {
    if (requests.size() != 1) {
      throw new IllegalArgumentException("a unary call with " + requests.size() + " requests");
    }
    await(delay());
    CompletableFuture<Response<DynamicMessage>> calling =
        client.unary(method, requests.get(0), options);
    if (wanted.has("cancel")) {
      CompletableFuture.delayedExecutor(afterLastRequest().toNanos(), TimeUnit.NANOSECONDS)
          .execute(() -> calling.cancel(true));
    }
    try {
      Response<DynamicMessage> got = calling.get();
      metadata(got.headers(), got.trailers());
      DynamicMessage message = got.message();
      if (message != null) {
        take(message);
      }
    } catch (CancellationException cancelled) {
      fail(Status.of(Code.CANCELLED, "given up"));
    } catch (ExecutionException e) {
      if (!(e.getCause() instanceof StatusException failed)) {
        throw e;
      }
      metadata(failed.headers(), failed.trailers());
      throw failed;
    }
  }

  private void stream(Client client, CallOptions options) throws InterruptedException {
    boolean one = method.kind().takesOne();
    await(delay());
    ClientStream<DynamicMessage, DynamicMessage> stream =
        client.stream(method, one ? requests.get(0) : null, options);
    try {
      if (!one) {
        sendAll(stream);
      }
      if (cancelsBy("before_close_send")) {
        stream.cancel();
      } else {
        if (!one) {
          stream.halfClose();
        }
        if (wanted.has("cancel") && !cancelsBy("after_num_responses")) {
          await(afterLastRequest());
          stream.cancel();
        }
      }
      while (receives(stream)) {
        // all that comes
      }
    } finally {
      stream.cancel();
      metadata(stream.headers().getNow(Metadata.EMPTY), stream.trailers());
    }
  }

  private boolean cancelsBy(String timing) {
    return wanted.has("cancel") && wanted.part("cancel").has(timing);
  }

  private void sendAll(ClientStream<DynamicMessage, DynamicMessage> stream)
      throws InterruptedException {
    for (int number = 0; number < requests.size(); number++) {
      if (number > 0) {
        await(delay());
      }
      if (!sends(stream, number)) {
        result.set("num_unsent_requests", requests.size() - number);
        return;
      }
      if (streams == FULL_DUPLEX && !receives(stream)) {
        return;
      }
    }
  }

  /** False: the call is over, and says when it is received how it ended. */
  private boolean sends(ClientStream<DynamicMessage, DynamicMessage> stream, int number) {
    try {
      return stream.send(requests.get(number));
    } catch (StatusException unsent) {
      result.set("num_unsent_requests", requests.size() - number);
      throw unsent;
    }
  }

  /** Takes an answer; false: there are no more. */
  private boolean receives(ClientStream<DynamicMessage, DynamicMessage> stream) {
    DynamicMessage answer = stream.receive();
    if (answer == null) {
      return false;
    }
    take(answer);
    if (cancelsBy("after_num_responses")
        && answers == wanted.part("cancel").number("after_num_responses")) {
      stream.cancel();
    }
    return true;
  }

  private void take(DynamicMessage answer) {
    answers++;
    result.add("payloads", new Parts(answer).part("payload").message());
  }

  private void metadata(Metadata headers, Metadata trailers) {
    Headers.add(headers, result, "response_headers");
    Headers.add(trailers, result, "response_trailers");
  }

  private void fail(Status status) {
    Made error =
        result
            .part("error")
            .choose("code", status.code().number()) // the numbers are gRPC's
            .set("message", status.message());
    for (Status.Detail detail : status.details()) {
      error.add(
          "details",
          error
              .part("details")
              .set("type_url", detail.typeUrl())
              .set("value", ByteString.copyFrom(detail.value()))
              .message());
    }
    result.set("error", error.message());
  }
}
