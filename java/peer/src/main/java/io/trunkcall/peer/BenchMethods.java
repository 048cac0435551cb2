package io.trunkcall.peer;

import com.google.protobuf.Empty;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Dictionary;
import com.trunkcall.bench.v1.EmitRequest;
import com.trunkcall.bench.v1.Payload;
import com.trunkcall.bench.v1.UserModel;
import com.trunkcall.bench.v1.UserModels;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.StatusException;
import io.trunkcall.load.Work;
import java.util.List;

/** BenchService: nothing stands between its methods and the framework. */
final class BenchMethods {
  private static final String SERVICE = "/trunkcall.bench.v1.BenchService/";
  private static final Codec<BenchmarkMessage> MESSAGE =
      Codec.protobuf(BenchmarkMessage.getDefaultInstance());
  private static final Codec<Payload> PAYLOAD = Codec.protobuf(Payload.getDefaultInstance());
  private static final Codec<UserModel> USER = Codec.protobuf(UserModel.getDefaultInstance());
  private static final Codec<UserModels> USERS = Codec.protobuf(UserModels.getDefaultInstance());

  static final Method<BenchmarkMessage, BenchmarkMessage> SAY =
      Method.unary(SERVICE + "Say", MESSAGE, MESSAGE);
  static final Method<Payload, Payload> ECHO = Method.unary(SERVICE + "Echo", PAYLOAD, PAYLOAD);
  static final Method<Payload, Payload> ECHO_STREAM =
      Method.bidiStream(SERVICE + "EchoStream", PAYLOAD, PAYLOAD);
  static final Method<EmitRequest, Payload> EMIT =
      Method.serverStream(
          SERVICE + "Emit", Codec.protobuf(EmitRequest.getDefaultInstance()), PAYLOAD);
  static final Method<Empty, Dictionary> GET_DICTIONARY =
      Method.unary(
          SERVICE + "GetDictionary",
          Codec.protobuf(Empty.getDefaultInstance()),
          Codec.protobuf(Dictionary.getDefaultInstance()));
  static final Method<UserModel, UserModel> GET_USER =
      Method.unary(SERVICE + "GetUser", USER, USER);
  static final Method<UserModels, UserModels> GET_USERS =
      Method.unary(SERVICE + "GetUsers", USERS, USERS);

  /** The answer of GetDictionary. */
  static final Dictionary DICTIONARY =
      Dictionary.newBuilder()
          .putEntries("a", "1")
          .putEntries("b", "2")
          .putEntries("c", "3")
          .build();

  private BenchMethods() {}

  /** All methods; {@code inline} has those that do not wait run on the event loop. */
  static List<Handler> handlers(Work work, boolean inline) {
    Handler say = Handler.unary(SAY, (request, call) -> BenchMessages.answer(request, work));
    Handler echo = Handler.unary(ECHO, (request, call) -> request);
    return List.of(
        inline ? say.inline() : say,
        inline ? echo.inline() : echo,
        Handler.bidiStream(
            ECHO_STREAM,
            (requests, responses, call) -> {
              for (Payload request : requests) {
                if (!responses.send(request)) {
                  return;
                }
              }
            }),
        Handler.serverStream(
            EMIT,
            (request, responses, call) -> {
              Payload payload = emitted(request);
              while (responses.send(payload)) {
                // until the call is over
              }
            }),
        Handler.unary(GET_DICTIONARY, (request, call) -> DICTIONARY),
        Handler.unary(GET_USER, (request, call) -> request),
        Handler.unary(GET_USERS, (request, call) -> request));
  }

  /** What Emit answers, again and again. */
  static Payload emitted(EmitRequest request) {
    int size = request.getSize();
    if (Integer.compareUnsigned(size, BenchMessages.MAX_EMIT) > 0) {
      throw new StatusException(
          Code.INVALID_ARGUMENT,
          "size is " + Integer.toUnsignedString(size) + ": want at most " + BenchMessages.MAX_EMIT);
    }
    return BenchMessages.payload(size);
  }
}
