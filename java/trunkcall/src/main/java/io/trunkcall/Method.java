package io.trunkcall;

import io.trunkcall.internal.wire.MethodName;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * A name that can be called or served, with its kind and the codecs of its messages. Make one for
 * each method and keep it; it may be shared by clients, servers and threads.
 *
 * @param <Q> the requests
 * @param <R> the responses
 */
public final class Method<Q, R> {
  private static final int MAX_NAME = 1024;

  private final String name;
  private final Kind kind;
  private final Codec<Q> request;
  private final Codec<R> response;
  private final MethodName wireName;

  private Method(Method<?, ?> of, Codec<Q> request, Codec<R> response) {
    this.name = of.name;
    this.kind = of.kind;
    this.request = request;
    this.response = response;
    this.wireName = of.wireName;
  }

  private Method(String name, Kind kind, Codec<Q> request, Codec<R> response) {
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(response, "response");
    this.name = name.startsWith("/") ? name : "/" + name;
    this.kind = kind;
    this.request = request;
    this.response = response;
    int cut = this.name.lastIndexOf('/');
    int bytes = this.name.getBytes(StandardCharsets.UTF_8).length;
    if (cut <= 0 || cut == this.name.length() - 1 || bytes > MAX_NAME) {
      String given = bytes <= MAX_NAME ? "\"" + this.name + "\"" : "of " + bytes + " bytes";
      throw new IllegalArgumentException(
          "method name " + given + ": want /package.Service/Method, at most 1,024 bytes");
    }
    this.wireName = new MethodName(this.name);
  }

  /** A method of one request and one response, by its name: {@code /package.Service/Method}. */
  public static <Q, R> Method<Q, R> unary(String name, Codec<Q> request, Codec<R> response) {
    return new Method<>(name, Kind.UNARY, request, response);
  }

  /** A method of one request and no response. */
  public static <Q> Method<Q, Void> oneWay(String name, Codec<Q> request) {
    return new Method<>(name, Kind.ONE_WAY, request, NoMessage.NONE);
  }

  /** A method of one request and many responses. */
  public static <Q, R> Method<Q, R> serverStream(String name, Codec<Q> request, Codec<R> response) {
    return new Method<>(name, Kind.SERVER_STREAM, request, response);
  }

  /** A method of many requests and one response. */
  public static <Q, R> Method<Q, R> clientStream(String name, Codec<Q> request, Codec<R> response) {
    return new Method<>(name, Kind.CLIENT_STREAM, request, response);
  }

  /** A method of many requests and many responses. */
  public static <Q, R> Method<Q, R> bidiStream(String name, Codec<Q> request, Codec<R> response) {
    return new Method<>(name, Kind.BIDI_STREAM, request, response);
  }

  /** Its name, {@code /package.Service/Method}. */
  public String name() {
    return name;
  }

  /** The name of its service, {@code package.Service}. */
  public String service() {
    return name.substring(1, name.lastIndexOf('/'));
  }

  /** How many messages go each way. */
  public Kind kind() {
    return kind;
  }

  /** The codec of its requests. */
  public Codec<Q> request() {
    return request;
  }

  /** The codec of its responses. */
  public Codec<R> response() {
    return response;
  }

  /**
   * The same method with its messages in the codec of a number; below 0: this.
   *
   * @throws IllegalArgumentException if they have no form in it
   */
  Method<Q, R> in(int codec) {
    if (codec < 0 || codec == request.number()) {
      return this;
    }
    Codec<Q> requests = request.in(codec);
    Codec<R> responses = kind == Kind.ONE_WAY ? response : response.in(codec);
    if (requests == null || responses == null) {
      throw new IllegalArgumentException(
          name
              + ": its messages have no form in codec "
              + codec
              + ", only in "
              + request.carriedBy());
    }
    return new Method<>(this, requests, responses);
  }

  MethodName wireName() {
    return wireName;
  }

  @Override
  public String toString() {
    return kind + " method " + name;
  }
}
