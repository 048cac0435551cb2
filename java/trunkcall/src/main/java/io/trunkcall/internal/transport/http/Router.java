package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.wire.LimitException;
import io.trunkcall.internal.wire.MetadataCheck;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Decides what a request is: a call in one of the protocols, or what gets an answer at once. */
final class Router {
  private static final List<Dialect> DIALECTS =
      List.of(Connect.STREAM, Grpc.WEB_TEXT, Grpc.WEB, Connect.UNARY);
  private static final List<String> KNOWN = List.of("json", "proto", "msgpack");
  private static final int MOST_NAME = 1_024;
  private static final int NAMED = 255; // a codec that has no number here
  private static final int UNSUPPORTED_TYPE = 415;

  private final HttpConfig config;

  Router(HttpConfig config) {
    this.config = config;
  }

  /** What comes of an answered request: nothing. */
  private static final class Answered implements HttpStream.Receiver {
    static final Answered ALREADY = new Answered();

    @Override
    public void data(ByteBuf bytes, int credit) {
      bytes.release();
    }

    @Override
    public void ended() {}

    @Override
    public void lost(String why) {}

    @Override
    public void writable() {}

    @Override
    public void tick(long now) {}

    @Override
    public void cutOff(String why) {}
  }

  /** A request's dialect and codec. */
  private record Spoken(Dialect dialect, String codec, String type) {}

  /** Takes a request, whose answer may have been given when this returns. */
  HttpStream.Receiver serve(Request request, HttpStream stream) {
    String type = mediaType(request.first("content-type"));
    String grpc = stream.multiplexed() && type != null ? Grpc.HTTP2.codec(type) : null;
    if (type != null && grpc != null) {
      if (!request.method().equals("POST")) {
        Answering.whole(
            stream, 405, Fields.list(new Field("allow", "POST")), Unpooled.EMPTY_BUFFER);
        return Answered.ALREADY;
      }
      HttpMethod found = stream.line().events().find(request.path());
      String answers = Grpc.answerType(type, grpc);
      return call(request, stream, found, new Spoken(Grpc.HTTP2, grpc, answers), null, null);
    }
    if (Origins.crossed(request, stream, config.origins())) {
      return Answered.ALREADY;
    }
    return other(request, stream, type == null ? null : spoken(type));
  }

  /** Answers a request whose header is too long. */
  HttpStream.Receiver tooLarge(Request request, HttpStream stream, String why) {
    String type = mediaType(request.first("content-type"));
    String grpc = stream.multiplexed() && type != null ? Grpc.HTTP2.codec(type) : null;
    if (type != null && grpc != null) {
      Refusal refusal = new Refusal(Code.RESOURCE_EXHAUSTED, why);
      stream.line().config().load().count(true);
      stream.line().events().unserved(request.path(), true, refusal.code(), refusal.text());
      new Answering(stream, Grpc.HTTP2, 0, Grpc.answerType(type, grpc), 0, false)
          .end(refusal.refused(), Metadata.EMPTY);
    } else {
      Answering.whole(stream, 431, Fields.list(), Unpooled.EMPTY_BUFFER);
    }
    return Answered.ALREADY;
  }

  private HttpStream.Receiver other(Request request, HttpStream stream, @Nullable Spoken spoken) {
    HttpMethod method = stream.line().events().find(request.path());
    boolean post = request.method().equals("POST");
    if (method == null && (!post || spoken == null)) {
      refuse(stream, 404, Code.UNIMPLEMENTED, notServed(request.path()));
    } else if (method != null && request.isGet() && method.safe() && !method.streams()) {
      return get(request, stream, method);
    } else if (!post && method != null) {
      String allowed = method.safe() && !method.streams() ? "GET, POST" : "POST";
      Answering.text(
          stream,
          405,
          method.name() + " is called by " + allowed + ", not " + request.method(),
          Fields.list(new Field("allow", allowed)));
    } else if (spoken == null || (method != null && !takes(method, spoken))) {
      refuseType(request, stream, method);
    } else {
      return call(request, stream, method, spoken, null, null);
    }
    return Answered.ALREADY;
  }

  private boolean takes(HttpMethod method, Spoken spoken) {
    return spoken.dialect.takes(method)
        && !(spoken.dialect.byStatus() && lacks(method, spoken.codec));
  }

  /** Whether a codec is known, and known not to carry the method's messages. */
  private boolean lacks(HttpMethod method, String codec) {
    int number = number(codec);
    return number != NAMED && !method.carries().test(number);
  }

  private int number(String codec) {
    return config.codecs().getOrDefault(codec, NAMED);
  }

  private static @Nullable Spoken spoken(String type) {
    for (Dialect dialect : DIALECTS) {
      String codec = dialect.codec(type);
      if (codec != null) {
        return new Spoken(dialect, codec, dialect.contentType(codec));
      }
    }
    return null;
  }

  /** The content type without parameters; null: it is none, or in a charset other than UTF-8. */
  private static @Nullable String mediaType(String given) {
    String[] parts = given.split(";", -1);
    for (int at = 1; at < parts.length; at++) {
      String parameter = parts[at].trim().toLowerCase(Locale.ROOT);
      if (parameter.startsWith("charset=")
          && !parameter.substring(8).replace("\"", "").equals("utf-8")) {
        return null;
      }
    }
    String type = parts[0].trim().toLowerCase(Locale.ROOT);
    return type.indexOf('/') > 0 ? type : null;
  }

  private static String notServed(String path) {
    return "method " + path + " is not served by this server";
  }

  private static void refuse(HttpStream stream, int code, Code why, String text) {
    Status status = Status.of(why, text).withDelivery(Delivery.REFUSED);
    Answering.error(stream, code, status, Metadata.EMPTY, Fields.list());
  }

  private void refuseType(Request request, HttpStream stream, @Nullable HttpMethod method) {
    String name = method == null ? request.path() : method.name();
    String takes = method == null ? "" : acceptPost(method);
    Answering.text(
        stream,
        UNSUPPORTED_TYPE,
        name
            + " does not take the content type \""
            + request.first("content-type")
            + "\", only "
            + takes,
        Fields.list(new Field("accept-post", takes)));
  }

  /** What a method takes. */
  private String acceptPost(HttpMethod method) {
    StringBuilder all = new StringBuilder();
    for (Dialect dialect : DIALECTS) {
      for (String codec : KNOWN) {
        if (dialect.byStatus() && dialect.takes(method) && !lacks(method, codec)) {
          all.append(all.isEmpty() ? "" : ", ").append(dialect.contentType(codec));
        }
      }
    }
    return all.toString();
  }

  // Calls by GET.

  private HttpStream.Receiver get(Request request, HttpStream stream, HttpMethod method) {
    Map<String, byte[]> query = Urls.query(request.query());
    byte[] encoding = query == null ? null : query.get("encoding");
    byte[] message = query == null ? null : query.get("message");
    if (query == null) {
      refuse(stream, 400, Code.INVALID_ARGUMENT, "malformed query");
      return Answered.ALREADY;
    }
    if (encoding == null || encoding.length == 0 || message == null) {
      String text = "GET wants the query's parameters encoding and message";
      refuse(stream, 400, Code.INVALID_ARGUMENT, text);
      return Answered.ALREADY;
    }
    byte[] version = query.get("connect");
    if (version != null && !text(version).equals("v1")) {
      String text = "the query's parameter connect is not v1";
      refuse(stream, 400, Code.INVALID_ARGUMENT, text);
      return Answered.ALREADY;
    }
    String codec = text(encoding);
    if (lacks(method, codec)) {
      Answering.text(
          stream,
          UNSUPPORTED_TYPE,
          method.name() + " does not take the encoding \"" + codec + "\"",
          Fields.list(new Field("accept-post", acceptPost(method))));
      return Answered.ALREADY;
    }
    byte[] base64 = query.get("base64");
    if (base64 != null && text(base64).equals("1")) {
      try {
        message = Base64.getUrlDecoder().decode(text(message).replaceAll("=+$", ""));
      } catch (IllegalArgumentException malformed) {
        refuse(stream, 400, Code.INVALID_ARGUMENT, "the query's message is not base64");
        return Answered.ALREADY;
      }
    }
    Spoken spoken = new Spoken(Connect.UNARY, codec, Connect.UNARY.contentType(codec));
    return call(request, stream, method, spoken, query, message);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  // Calls.

  private HttpStream.Receiver call(
      Request request,
      HttpStream stream,
      @Nullable HttpMethod method,
      Spoken spoken,
      @Nullable Map<String, byte[]> query,
      byte @Nullable [] message) {
    int codec = number(spoken.codec);
    Dialect dialect = spoken.dialect;
    Answering answering = new Answering(stream, dialect, codec, spoken.type, 0, query != null);
    try {
      HttpCall.Head head = head(request, method, spoken, codec, query);
      if (head.packs() != 0) {
        answering = new Answering(stream, dialect, codec, spoken.type, head.packs(), query != null);
      }
      long length = message != null ? message.length : request.length();
      HttpCall made = new HttpCall(stream, head, answering, length);
      if (message == null) {
        return begun(made);
      }
      made.data(Unpooled.wrappedBuffer(message), 0);
      made.ended();
      return made;
    } catch (Refusal why) {
      stream.line().config().load().count(true);
      stream.line().events().unserved(request.path(), true, why.code(), why.text());
      boolean wrongCodec = why instanceof UnknownCodec;
      if (wrongCodec && method != null && dialect.byStatus()) {
        Answering.text(
            stream,
            UNSUPPORTED_TYPE,
            why.text(),
            Fields.list(new Field("accept-post", acceptPost(method))));
      } else if (method == null && dialect.byStatus()) {
        Answering.error(stream, 404, why.refused(), Metadata.EMPTY, Fields.list());
      } else {
        answering.end(why.refused(), Metadata.EMPTY);
      }
      return Answered.ALREADY;
    }
  }

  private static HttpCall begun(HttpCall made) {
    made.begin();
    return made;
  }

  private static final class UnknownCodec extends Refusal {
    private static final long serialVersionUID = 1L;

    UnknownCodec(String text) {
      super(Code.UNIMPLEMENTED, text);
    }
  }

  /** What the request says of the call. */
  private HttpCall.Head head(
      Request request,
      @Nullable HttpMethod method,
      Spoken spoken,
      int codec,
      @Nullable Map<String, byte[]> query)
      throws Refusal {
    if (request.path().length() > MOST_NAME) {
      throw new Refusal(Code.INVALID_ARGUMENT, "the method's name is too long");
    }
    Dialect.Said said = spoken.dialect.read(request, query);
    int compression = compression(said.encoding());
    if (said.micros() < 0) {
      throw new Refusal(Code.INVALID_ARGUMENT, "malformed " + said.timeoutField());
    }
    long now = Clock.micros();
    boolean limited = !said.timeout().isEmpty() && said.micros() < Clock.NEVER - now;
    long deadline = limited ? now + said.micros() : 0;
    Metadata metadata = Fields.read(request, spoken.dialect == Grpc.HTTP2);
    try {
      MetadataCheck.check(metadata, config.settings());
    } catch (LimitException e) {
      throw new Refusal(Code.RESOURCE_EXHAUSTED, String.valueOf(e.getMessage()));
    } catch (IllegalArgumentException e) {
      throw new Refusal(Code.INVALID_ARGUMENT, String.valueOf(e.getMessage()));
    }
    if (method == null) {
      throw new Refusal(Code.UNIMPLEMENTED, notServed(request.path()));
    }
    if (codec == NAMED) {
      throw new UnknownCodec(
          "codec \"" + spoken.codec + "\" is not known here, only " + config.codecList());
    }
    if (!method.carries().test(codec)) {
      throw new Refusal(
          Code.UNIMPLEMENTED, "the messages of this method are not in codec " + spoken.codec);
    }
    return new HttpCall.Head(
        method,
        spoken.dialect,
        codec,
        compression,
        packs(compression, said.accepts()),
        metadata,
        request.authority(),
        deadline);
  }

  private int compression(String encoding) throws Refusal {
    if (encoding.isEmpty() || encoding.equals("identity")) {
      return 0;
    }
    int number = Encodings.number(encoding);
    if (number == 0 || !config.settings().compressions().contains(number)) {
      throw new Refusal(
          Code.UNIMPLEMENTED,
          "the encoding "
              + encoding
              + " is not accepted here, only "
              + Encodings.listed(config.settings().compressions()));
    }
    return number;
  }

  /** The compression that answers may be in: the request's comes first. */
  private int packs(int compression, int accepted) {
    List<Integer> order = config.packs();
    if (order != null && order.isEmpty()) {
      return 0;
    }
    if (compression != 0 && (accepted >> compression & 1) != 0) {
      return compression;
    }
    for (int one : order == null ? List.<Integer>of() : order) {
      if ((accepted >> one & 1) != 0) {
        return one;
      }
    }
    return 0;
  }
}
