package com.trunkcall.stock;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.Any;
import com.google.protobuf.Empty;
import com.google.protobuf.InvalidProtocolBufferException;
import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.ConformanceServiceGrpc;
import com.trunkcall.conformance.v1.Request;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** One call. It is begun in the context that its caller can cancel. */
final class Call {
  private static final Metadata.Key<String> DELIVERY =
      Metadata.Key.of("trunk-delivery", Metadata.ASCII_STRING_MARSHALLER);

  private final JsonObject line;
  private final ConformanceServiceGrpc.ConformanceServiceStub stub;
  private final List<Request> requests = new ArrayList<>();
  private final List<byte[]> asIs; // the requests, if one of them is bytes; or null
  private final List<Answer> answers = new ArrayList<>();
  private final AtomicReference<Metadata> header = new AtomicReference<>();
  private final AtomicReference<Metadata> trailer = new AtomicReference<>();
  private final CompletableFuture<Status> ended = new CompletableFuture<>();

  /** Is completed at the first answer. */
  final CompletableFuture<Void> answered = new CompletableFuture<>();

  Call(ManagedChannel channel, JsonObject client, JsonObject line)
      throws InvalidProtocolBufferException {
    this.line = line;
    ConformanceServiceGrpc.ConformanceServiceStub stub =
        ConformanceServiceGrpc.newStub(channel)
            .withInterceptors(
                MetadataUtils.newAttachHeadersInterceptor(
                    Lines.metadata(Lines.array(line, "metadata"))),
                MetadataUtils.newCaptureMetadataInterceptor(header, trailer));
    if (client != null && client.has("maxMessage")) {
      stub = stub.withMaxOutboundMessageSize(client.get("maxMessage").getAsInt());
    }
    if (client != null && client.has("compression")) {
      stub = stub.withCompression(client.get("compression").getAsString());
    }
    if (line.has("timeoutMs")) {
      stub = stub.withDeadlineAfter(line.get("timeoutMs").getAsLong(), TimeUnit.MILLISECONDS);
    }
    if (Lines.isSet(line, "waitForReady")) {
      stub = stub.withWaitForReady();
    }
    this.stub = stub;
    for (JsonElement request : Lines.array(line, "requests")) {
      requests.add(Lines.isBytes(request) ? Request.getDefaultInstance() : Lines.request(request));
    }
    asIs = AsIs.requests(Lines.array(line, "requests"));
  }

  /** The id of its plan. */
  String id() {
    return requests.isEmpty() ? "" : requests.get(0).getPlan().getId();
  }

  /** Begins the call, and sends what is to be sent. */
  void begin(CompletableFuture<Void> released) {
    if (asIs != null) {
      beginAsIs(AsIs.method(line.get("method").getAsString()));
      return;
    }
    Request first = requests.isEmpty() ? Request.getDefaultInstance() : requests.get(0);
    switch (line.get("method").getAsString()) {
      case "Unary" -> stub.unary(first, receiver());
      case "Read" -> stub.read(first, receiver());
      case "Unserved" -> stub.unserved(first, receiver());
      case "Tell" -> stub.tell(first, receiver());
      case "ServerStream" -> stub.serverStream(first, receiver());
      case "ClientStream" -> sendAll(stub.clientStream(receiver()), released);
      case "BidiStream" -> sendAll(stub.bidiStream(receiver()), released);
      default -> throw new IllegalArgumentException("there is no method " + line.get("method"));
    }
  }

  private void beginAsIs(MethodDescriptor<byte[], Object> method) {
    ClientCall<byte[], Object> call = stub.getChannel().newCall(method, stub.getCallOptions());
    switch (method.getType()) {
      case UNARY -> ClientCalls.asyncUnaryCall(call, asIs.get(0), receiver());
      case SERVER_STREAMING -> ClientCalls.asyncServerStreamingCall(call, asIs.get(0), receiver());
      case CLIENT_STREAMING -> send(ClientCalls.asyncClientStreamingCall(call, receiver()), asIs);
      default -> send(ClientCalls.asyncBidiStreamingCall(call, receiver()), asIs);
    }
  }

  private void sendAll(StreamObserver<Request> stream, CompletableFuture<Void> released) {
    if (!Lines.isSet(line, "hold")) {
      send(stream, requests);
      return;
    }
    stream.onNext(requests.get(0));
    released.thenRun(() -> send(stream, requests.subList(1, requests.size())));
  }

  private <T> void send(StreamObserver<T> stream, List<T> requests) {
    try {
      requests.forEach(stream::onNext);
      stream.onCompleted();
    } catch (IllegalStateException over) {
      // The call has ended meanwhile, which its receiver tells.
    }
  }

  private <T> StreamObserver<T> receiver() {
    return new StreamObserver<>() {
      @Override
      public void onNext(T got) {
        if (got instanceof Answer answer) {
          answers.add(answer);
        } else if (!(got instanceof Empty)) {
          throw new IllegalStateException("an answer that is none: " + got);
        }
        answered.complete(null);
      }

      @Override
      public void onError(Throwable failure) {
        ended.complete(Status.fromThrowable(failure));
      }

      @Override
      public void onCompleted() {
        ended.complete(Status.OK);
      }
    };
  }

  /**
   * Waits for the end. Of the delivery only what the server has sent is told: what its absence
   * means depends on who has ended the call, and that is not known.
   */
  JsonObject outcome() throws Exception {
    Status status = ended.get(Carrying.LIMIT_SECONDS, TimeUnit.SECONDS);
    Metadata trailers = trailer.get() == null ? new Metadata() : trailer.get();
    JsonObject told = new JsonObject();
    told.addProperty("code", status.getCode().name());
    told.addProperty("message", status.getDescription() == null ? "" : status.getDescription());
    told.add("details", details(status, trailers));
    if (trailers.containsKey(DELIVERY)) {
      told.addProperty("delivery", trailers.get(DELIVERY));
    }
    told.add("header", Lines.pairs(header.get() == null ? new Metadata() : header.get()));
    told.add("trailer", Lines.pairs(trailers));
    JsonArray lines = new JsonArray();
    for (Answer answer : answers) {
      lines.add(Lines.answer(answer));
    }
    told.add("answers", lines);
    return told;
  }

  private static JsonArray details(Status status, Metadata trailers) {
    JsonArray details = new JsonArray();
    if (status.isOk()) {
      return details;
    }
    for (Any any : StatusProto.fromStatusAndTrailers(status, trailers).getDetailsList()) {
      JsonObject detail = new JsonObject();
      detail.addProperty("typeUrl", any.getTypeUrl());
      detail.addProperty("value", Lines.base64(any.getValue().toByteArray()));
      details.add(detail);
    }
    return details;
  }
}
