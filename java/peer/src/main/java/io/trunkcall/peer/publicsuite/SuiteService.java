package io.trunkcall.peer.publicsuite;

import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Details;
import io.trunkcall.Handler;
import io.trunkcall.Metadata;
import io.trunkcall.Method;
import io.trunkcall.Receiver;
import io.trunkcall.Sender;
import io.trunkcall.ServerCall;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The suite's service: a request says what its answer is to be, and the answer repeats what came.
 */
final class SuiteService {
  static final String NAME = "/" + Schema.PACKAGE + ".ConformanceService";

  private final Schema schema;

  SuiteService(Schema schema) {
    this.schema = schema;
  }

  List<Handler> handlers() {
    return List.of(
        unary("Unary"),
        unary("IdempotentUnary").noSideEffects(),
        Handler.clientStream(
            Method.clientStream(
                name("ClientStream"), request("ClientStream"), response("ClientStream")),
            this::clientStream),
        Handler.serverStream(
            Method.serverStream(
                name("ServerStream"), request("ServerStream"), response("ServerStream")),
            this::serverStream),
        Handler.bidiStream(
            Method.bidiStream(name("BidiStream"), request("BidiStream"), response("BidiStream")),
            this::bidiStream));
  }

  private Handler unary(String method) {
    return Handler.unary(
        Method.unary(name(method), request(method), response(method)),
        (request, call) -> answerOne(method, List.of(new Parts(request)), call));
  }

  private static String name(String method) {
    return NAME + "/" + method;
  }

  private Codec<DynamicMessage> request(String method) {
    return Codec.protobuf(schema.empty(method + "Request"));
  }

  private Codec<DynamicMessage> response(String method) {
    return Codec.protobuf(schema.empty(method + "Response"));
  }

  private DynamicMessage clientStream(Receiver<DynamicMessage> requests, ServerCall call)
      throws InterruptedException {
    List<Parts> all = new ArrayList<>();
    for (DynamicMessage request : requests) {
      all.add(new Parts(request));
    }
    return answerOne("ClientStream", all, call);
  }

  private void serverStream(
      DynamicMessage request, Sender<DynamicMessage> responses, ServerCall call)
      throws InterruptedException {
    Responding responding = new Responding("ServerStream", responses, call);
    Parts first = new Parts(request);
    responding.open(first);
    responding.rest(List.of(first));
  }

  private void bidiStream(
      Receiver<DynamicMessage> requests, Sender<DynamicMessage> responses, ServerCall call)
      throws InterruptedException {
    Responding responding = new Responding("BidiStream", responses, call);
    List<Parts> untold = new ArrayList<>(); // requests that no answer has told of
    Parts first = null;
    boolean inTurn = false;
    for (DynamicMessage message : requests) {
      Parts request = new Parts(message);
      untold.add(request);
      if (first == null) {
        first = request;
        inTurn = request.isTrue("full_duplex");
        if (inTurn) {
          responding.open(request);
        }
      }
      if (inTurn) {
        if (!responding.hasMore()) {
          break;
        }
        responding.next(untold);
        untold.clear();
      }
    }
    if (first != null && !inTurn) {
      responding.open(first);
    }
    responding.rest(untold);
  }

  /** The one answer to requests, of which the first says what it is. */
  private DynamicMessage answerOne(String method, List<Parts> requests, ServerCall call)
      throws InterruptedException {
    Parts definition = requests.isEmpty() ? null : definition(requests.get(0));
    Message info = info(requests, call, true);
    Made response = schema.make(method + "Response");
    Made payload = response.part("payload");
    if (definition != null) {
      begin(definition, call);
      await(definition);
      if (definition.has("error")) {
        throw failure(definition.part("error"), info);
      }
      payload.set("data", definition.bytes("response_data"));
    }
    payload.set("request_info", info);
    return (DynamicMessage) response.set("payload", payload.message()).message();
  }

  private static @Nullable Parts definition(Parts request) {
    return request.has("response_definition") ? request.part("response_definition") : null;
  }

  private static void begin(Parts definition, ServerCall call) {
    call.setHeaders(Headers.metadata(definition.parts("response_headers")));
    call.setTrailers(Headers.metadata(definition.parts("response_trailers")));
  }

  private static void await(Parts definition) throws InterruptedException {
    Thread.sleep(Integer.toUnsignedLong(definition.number("response_delay_ms")));
  }

  /** What is told of a call; of its metadata in the first answer alone. */
  private Message info(List<Parts> requests, ServerCall call, boolean first) {
    Made info = schema.make("ConformancePayload.RequestInfo");
    requests.forEach(request -> Headers.addAny(request, info, "requests"));
    if (first) {
      Headers.add(call.metadata(), info, "request_headers");
      Duration left = call.timeRemaining();
      if (left != null) {
        info.set("timeout_ms", left.toMillis());
      }
    }
    return info.message();
  }

  /** The error that is wanted, with {@code info} among its details if that was not told yet. */
  private static StatusException failure(Parts error, @Nullable Message info) {
    List<Status.Detail> details = new ArrayList<>();
    for (Parts detail : error.parts("details")) {
      details.add(new Status.Detail(detail.text("type_url"), detail.bytes("value").toByteArray()));
    }
    if (info != null) {
      details.add(Details.of(info));
    }
    Code code = Code.of(error.choice("code")); // the numbers are gRPC's
    return new StatusException(Status.of(code, error.text("message")).withDetails(details));
  }

  /** A stream of answers. */
  private final class Responding {
    private final String method;
    private final Sender<DynamicMessage> responses;
    private final ServerCall call;
    private @Nullable Parts definition;
    private int sent;

    Responding(String method, Sender<DynamicMessage> responses, ServerCall call) {
      this.method = method;
      this.responses = responses;
      this.call = call;
    }

    /** Takes the definition of the first request, and sends the headers if answers will follow. */
    void open(Parts request) {
      definition = definition(request);
      if (definition != null) {
        begin(definition, call);
        if (hasMore()) {
          call.sendHeaders(Metadata.EMPTY);
        }
      }
    }

    boolean hasMore() {
      return definition != null && sent < definition.all("response_data").size();
    }

    void next(List<Parts> requests) throws InterruptedException {
      Parts wanted = Objects.requireNonNull(definition);
      await(wanted);
      Made response = schema.make(method + "Response");
      Made payload = response.part("payload").set("data", wanted.all("response_data").get(sent));
      if (!requests.isEmpty() || sent == 0) {
        payload.set("request_info", info(requests, call, sent == 0));
      }
      sent++;
      responses.send((DynamicMessage) response.set("payload", payload.message()).message());
    }

    /** Sends the answers that are left, and ends as it is asked to. */
    void rest(List<Parts> requests) throws InterruptedException {
      List<Parts> untold = requests;
      while (hasMore()) {
        next(untold);
        untold = List.of();
      }
      if (definition != null && definition.has("error")) {
        throw failure(definition.part("error"), sent == 0 ? info(untold, call, true) : null);
      }
    }
  }
}
