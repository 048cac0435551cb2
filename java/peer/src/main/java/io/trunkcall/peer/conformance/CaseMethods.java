package io.trunkcall.peer.conformance;

import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.ObserveRequest;
import com.trunkcall.conformance.v1.Observed;
import com.trunkcall.conformance.v1.Request;
import io.trunkcall.Codec;
import io.trunkcall.Method;
import io.trunkcall.Output;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The methods of ConformanceService, as servers have them and as callers do. */
final class CaseMethods {
  private static final String SERVICE = "/trunkcall.conformance.v1.ConformanceService/";

  private static final Codec<Request> REQUEST = Codec.protobuf(Request.getDefaultInstance());
  private static final Codec<Answer> ANSWER = Codec.protobuf(Answer.getDefaultInstance());

  static final Method<Request, Answer> UNARY = Method.unary(SERVICE + "Unary", REQUEST, ANSWER);
  static final Method<Request, Answer> READ = Method.unary(SERVICE + "Read", REQUEST, ANSWER);
  static final Method<Request, Answer> SERVER_STREAM =
      Method.serverStream(SERVICE + "ServerStream", REQUEST, ANSWER);
  static final Method<Request, Answer> CLIENT_STREAM =
      Method.clientStream(SERVICE + "ClientStream", REQUEST, ANSWER);
  static final Method<Request, Answer> BIDI_STREAM =
      Method.bidiStream(SERVICE + "BidiStream", REQUEST, ANSWER);
  static final Method<Request, Void> TELL = Method.oneWay(SERVICE + "Tell", REQUEST);
  static final Method<ObserveRequest, Observed> OBSERVE =
      Method.unary(
          SERVICE + "Observe",
          Codec.protobuf(ObserveRequest.getDefaultInstance()),
          Codec.protobuf(Observed.getDefaultInstance()));

  /** The same for callers, whose requests are messages, or bytes in the place of one. */
  private static final Map<String, Method<Object, ?>> CALLED = called(REQUEST, ANSWER);

  private static final Map<String, Method<Object, ?>> CALLED_IN_JSON =
      called(Codec.json(Request.getDefaultInstance()), Codec.json(Answer.getDefaultInstance()));

  private CaseMethods() {}

  private static Map<String, Method<Object, ?>> called(
      Codec<Request> requests, Codec<Answer> answer) {
    Codec<Object> request = new AsGiven(requests);
    return List.<Method<Object, ?>>of(
            Method.unary(UNARY.name(), request, answer),
            Method.unary(READ.name(), request, answer),
            Method.serverStream(SERVER_STREAM.name(), request, answer),
            Method.clientStream(CLIENT_STREAM.name(), request, answer),
            Method.bidiStream(BIDI_STREAM.name(), request, answer),
            Method.oneWay(TELL.name(), request),
            Method.unary(SERVICE + "Unserved", request, answer))
        .stream()
        .collect(
            Collectors.toUnmodifiableMap(
                method -> method.name().substring(SERVICE.length()), Function.identity()));
  }

  /** A method for callers, by its name without the service's. */
  static Method<Object, ?> called(String name, boolean inJson) {
    Method<Object, ?> found = (inJson ? CALLED_IN_JSON : CALLED).get(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no method " + name);
    }
    return found;
  }

  /** A codec that lets bytes pass as if they were a message already. */
  private record AsGiven(Codec<Request> typed) implements Codec<Object> {
    @Override
    public int number() {
      return typed.number();
    }

    @Override
    public String name() {
      return typed.name();
    }

    @Override
    public void encode(Object message, Output out) {
      if (message instanceof Request request) {
        typed.encode(request, out);
      } else {
        byte[] bytes = (byte[]) message;
        out.write(bytes, 0, bytes.length);
      }
    }

    @Override
    public Object decode(byte[] array, int offset, int length) {
      return typed.decode(array, offset, length);
    }
  }
}
