package io.trunkcall.peer;

import io.trunkcall.CallOptions;
import io.trunkcall.Caller;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Delivery;
import io.trunkcall.Method;
import io.trunkcall.Output;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.ValueCodecs;
import java.nio.charset.StandardCharsets;

/**
 * A call of a method of which no more is known than its name: a JSON array of arguments, JSON for
 * what comes back.
 */
public final class CodeFirstCall {
  private static final Codec<Object> JSON = ValueCodecs.json(Object.class);
  private static final Codec<Object> MESSAGE_PACK = ValueCodecs.messagePack(Object.class);

  private CodeFirstCall() {}

  /** Whether the arguments are those of a method of a service that no .proto file describes. */
  static boolean is(String method, String arguments) {
    String bare = method.startsWith("/") ? method.substring(1) : method;
    int slash = bare.indexOf('/');
    return slash > 0
        && slash < bare.length() - 1
        && !KnownMethod.isDescribed(bare.substring(0, slash))
        && arguments.stripLeading().startsWith("[");
  }

  /** A method by its name, in the codec that is named so. */
  public static Method<Object, Object> method(String name, String codec) {
    Codec<Object> values = codec.equals(JSON.name()) ? JSON : MESSAGE_PACK;
    return Method.unary(name, values, values);
  }

  /**
   * The arguments in a text.
   *
   * @throws StatusException if it is no JSON
   */
  public static Object arguments(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    try {
      return JSON.decode(bytes, 0, bytes.length);
    } catch (IllegalArgumentException e) {
      Status bad =
          Status.of(Code.INVALID_ARGUMENT, "the arguments are no JSON array: " + e.getMessage());
      throw new StatusException(bad.withDelivery(Delivery.NOT_SENT));
    }
  }

  /** What came back, as a line of JSON. */
  public static String line(Object results) {
    Output out = new Output();
    JSON.encode(results, out);
    return new String(out.array(), 0, out.length(), StandardCharsets.UTF_8);
  }

  static String call(
      Caller caller, String method, Object arguments, String codec, CallOptions options) {
    return line(caller.call(method(method, codec), arguments, options));
  }
}
