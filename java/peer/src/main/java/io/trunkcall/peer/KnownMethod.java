package io.trunkcall.peer;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.trunkcall.bench.v1.Bench;
import com.trunkcall.example.v1.User;
import com.trunkcall.fault.v1.Fault;
import io.trunkcall.CallOptions;
import io.trunkcall.Caller;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Delivery;
import io.trunkcall.Kind;
import io.trunkcall.Method;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.load.Failed;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A method as its descriptor tells of it: all that a call needs when it is known by name only. */
final class KnownMethod {
  private static final Map<String, ServiceDescriptor> SERVICES = new LinkedHashMap<>();

  static {
    for (FileDescriptor file :
        List.of(User.getDescriptor(), Bench.getDescriptor(), Fault.getDescriptor())) {
      for (ServiceDescriptor service : file.getServices()) {
        SERVICES.put(service.getFullName(), service);
      }
    }
  }

  /** Takes an answer. */
  @FunctionalInterface
  interface Taker {
    /** What it throws ends the call. */
    void accept(DynamicMessage answer) throws Failed;
  }

  private final DynamicMessage request;
  private final DynamicMessage response;
  private final Method<DynamicMessage, DynamicMessage> typed;

  private KnownMethod(MethodDescriptor described, boolean inJson) {
    request = DynamicMessage.getDefaultInstance(described.getInputType());
    response = DynamicMessage.getDefaultInstance(described.getOutputType());
    String name = "/" + described.getService().getFullName() + "/" + described.getName();
    Codec<DynamicMessage> in = inJson ? Codec.json(request) : Codec.protobuf(request);
    Codec<DynamicMessage> out = inJson ? Codec.json(response) : Codec.protobuf(response);
    typed =
        switch (kind(described)) {
          case CLIENT_STREAM -> Method.clientStream(name, in, out);
          case SERVER_STREAM -> Method.serverStream(name, in, out);
          case BIDI_STREAM -> Method.bidiStream(name, in, out);
          default -> Method.unary(name, in, out);
        };
  }

  private static Kind kind(MethodDescriptor described) {
    if (described.isClientStreaming()) {
      return described.isServerStreaming() ? Kind.BIDI_STREAM : Kind.CLIENT_STREAM;
    }
    return described.isServerStreaming() ? Kind.SERVER_STREAM : Kind.UNARY;
  }

  /** The methods and their kinds, a line each. */
  static String list() {
    StringBuilder lines = new StringBuilder();
    for (ServiceDescriptor service : SERVICES.values()) {
      for (MethodDescriptor method : service.getMethods()) {
        Kind kind = kind(method);
        lines.append("  ").append(service.getFullName()).append("/").append(method.getName());
        lines.append(kind.streams() ? " (" + kind + ")\n" : "\n");
      }
    }
    return lines.toString();
  }

  /** Whether a .proto file that is known describes a service. */
  static boolean isDescribed(String service) {
    return SERVICES.containsKey(service);
  }

  /**
   * Looks a method up among the services that are known; its messages go as Protobuf or as JSON.
   *
   * @throws StatusException if there is none: the call cannot even be made
   */
  static KnownMethod find(String name, boolean inJson) {
    String bare = name.startsWith("/") ? name.substring(1) : name;
    int slash = bare.indexOf('/');
    String quoted = "method \"" + name + "\": ";
    if (slash < 0) {
      throw unsendable(Code.INVALID_ARGUMENT, quoted + "want package.Service/Method");
    }
    String serviceName = bare.substring(0, slash);
    ServiceDescriptor service = SERVICES.get(serviceName);
    if (service == null) {
      throw unsendable(
          Code.UNIMPLEMENTED,
          quoted + "there is no service " + serviceName + " here; call --help lists what there is");
    }
    MethodDescriptor found = service.findMethodByName(bare.substring(slash + 1));
    if (found == null) {
      String names =
          service.getMethods().stream()
              .map(MethodDescriptor::getName)
              .collect(Collectors.joining(", "));
      throw unsendable(Code.UNIMPLEMENTED, quoted + serviceName + " has " + names + " only");
    }
    return new KnownMethod(found, inJson);
  }

  private static StatusException unsendable(Code code, String text) {
    return new StatusException(Status.of(code, text).withDelivery(Delivery.NOT_SENT));
  }

  /** The whole name. */
  String name() {
    return typed.name();
  }

  /** A request without anything in it. */
  DynamicMessage request() {
    return request;
  }

  /** An answer without anything in it. */
  DynamicMessage response() {
    return response;
  }

  /**
   * One message, or those of an array for a method that takes many.
   *
   * @throws StatusException if the text is something else
   */
  List<DynamicMessage> parse(String text) {
    List<DynamicMessage> requests = new ArrayList<>();
    if (typed.kind().takesOne()) {
      requests.add(parseOne(text, ""));
      return requests;
    }
    JsonArray all = array(text);
    for (JsonElement one : all) {
      String place = "message " + (requests.size() + 1) + " of " + all.size() + ": ";
      requests.add(parseOne(JsonForm.tight(one), place));
    }
    return requests;
  }

  private DynamicMessage parseOne(String text, String place) {
    Message.Builder into = request.newBuilderForType();
    try {
      JsonForm.read(text, into);
    } catch (IllegalArgumentException e) {
      throw unsendable(Code.INVALID_ARGUMENT, place + e.getMessage());
    }
    return (DynamicMessage) into.build();
  }

  private JsonArray array(String text) {
    String wanted =
        typed.name()
            + " takes a JSON array of "
            + request.getDescriptorForType().getFullName()
            + ": ";
    try {
      if (JsonForm.parse(text) instanceof JsonArray found) {
        return found;
      }
    } catch (IllegalArgumentException e) {
      throw unsendable(Code.INVALID_ARGUMENT, wanted + e.getMessage());
    }
    throw unsendable(Code.INVALID_ARGUMENT, wanted + "this is none");
  }

  /**
   * Makes the call and hands each answer to {@code take}.
   *
   * @throws StatusException if it fails; what {@code take} throws ends the call
   */
  void invoke(Caller caller, List<DynamicMessage> requests, CallOptions options, Taker take)
      throws Failed {
    if (typed.kind() == Kind.UNARY) {
      take.accept(caller.call(typed, requests.get(0), options));
      return;
    }
    boolean one = typed.kind().takesOne();
    try (ClientStream<DynamicMessage, DynamicMessage> stream =
        caller.stream(typed, one ? requests.get(0) : null, options)) {
      if (typed.kind().answersOne()) {
        sendAll(stream, requests);
        take.accept(stream.response());
      } else if (one) {
        receive(stream, take);
      } else {
        CompletableFuture<@Nullable Void> sending = sendBeside(stream, requests);
        try {
          receive(stream, take);
        } catch (StatusException received) {
          throw reason(sending, received);
        }
      }
    }
  }

  private static void receive(ClientStream<DynamicMessage, DynamicMessage> stream, Taker take)
      throws Failed {
    for (DynamicMessage answer : stream) {
      take.accept(answer);
    }
  }

  /** Sends the requests, or those before the end of the call: how that came is received. */
  private static void sendAll(
      ClientStream<DynamicMessage, DynamicMessage> stream, List<DynamicMessage> requests) {
    for (DynamicMessage request : requests) {
      if (!stream.send(request)) {
        return;
      }
    }
  }

  /** Sends from a thread of its own, as sending and receiving may have to wait for each other. */
  private static CompletableFuture<@Nullable Void> sendBeside(
      ClientStream<DynamicMessage, DynamicMessage> stream, List<DynamicMessage> requests) {
    CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                sendAll(stream, requests);
                stream.halfClose();
                done.complete(null);
              } catch (RuntimeException e) {
                done.completeExceptionally(e);
                stream.cancel(); // the server waits for a message that cannot be sent
              }
            },
            "sender");
    thread.setDaemon(true);
    thread.start();
    return done;
  }

  /** A message that could not be sent is why the call failed. */
  private static StatusException reason(
      CompletableFuture<@Nullable Void> sending, StatusException received) {
    if (sending.isCompletedExceptionally()) {
      try {
        sending.join();
      } catch (CompletionException e) {
        if (e.getCause() instanceof StatusException unsent) {
          return unsent;
        }
      }
    }
    return received;
  }
}
