package io.trunkcall.peer.conformance;

import com.google.protobuf.Message;
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
  private static final Map<String, Method<Object, ?>> CALLED =
      List.<Method<Object, ?>>of(
              Method.unary(UNARY.name(), AsGiven.CODEC, ANSWER),
              Method.unary(READ.name(), AsGiven.CODEC, ANSWER),
              Method.serverStream(SERVER_STREAM.name(), AsGiven.CODEC, ANSWER),
              Method.clientStream(CLIENT_STREAM.name(), AsGiven.CODEC, ANSWER),
              Method.bidiStream(BIDI_STREAM.name(), AsGiven.CODEC, ANSWER),
              Method.oneWay(TELL.name(), AsGiven.CODEC),
              Method.unary(SERVICE + "Unserved", AsGiven.CODEC, ANSWER))
          .stream()
          .collect(
              Collectors.toUnmodifiableMap(
                  method -> method.name().substring(SERVICE.length()), Function.identity()));

  private CaseMethods() {}

  /** A method for callers, by its name without the service's. */
  static Method<Object, ?> called(String name) {
    Method<Object, ?> found = CALLED.get(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no method " + name);
    }
    return found;
  }

  /** Protobuf that lets bytes pass as if they were a message already. */
  private static final class AsGiven implements Codec<Object> {
    static final AsGiven CODEC = new AsGiven();

    @Override
    public int number() {
      return REQUEST.number();
    }

    @Override
    public String name() {
      return REQUEST.name();
    }

    @Override
    public void encode(Object message, Output out) {
      byte[] bytes = message instanceof Message typed ? typed.toByteArray() : (byte[]) message;
      out.write(bytes, 0, bytes.length);
    }

    @Override
    public Object decode(byte[] array, int offset, int length) {
      return REQUEST.decode(array, offset, length);
    }
  }
}
