package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;

/** Writes the answer of a call in its protocol. On the loop. */
final class Answering {
  static final byte[] NOTHING = new byte[0];
  private static final int JSON = 2;
  private static final byte[] EMPTY_OBJECT = "{}".getBytes(StandardCharsets.US_ASCII);

  private final HttpStream stream;
  private final Dialect dialect;
  private final int codec;
  private final String type; // of the answer
  private final int packs;
  private final boolean byGet;
  private Metadata early = Metadata.EMPTY;
  private boolean begun;

  /** In answers of content type {@code type}; {@code packs} is the compression they may be in. */
  Answering(HttpStream stream, Dialect dialect, int codec, String type, int packs, boolean byGet) {
    this.stream = stream;
    this.dialect = dialect;
    this.codec = codec;
    this.type = type;
    this.packs = packs;
    this.byGet = byGet;
  }

  /** Whether something of the answer was written. */
  boolean begun() {
    return begun;
  }

  /** Sends metadata ahead of the messages, where the protocol can. */
  void early(Metadata metadata) {
    if (dialect.plain()) {
      early = metadata; // the head waits for the status
    } else {
      begin(metadata);
    }
  }

  private void begin(Metadata metadata) {
    if (begun) {
      return;
    }
    begun = true;
    stream.head(200, headFields(metadata), false);
  }

  private List<Field> headFields(Metadata metadata) {
    List<Field> fields = Fields.list();
    fields.add(new Field("content-type", type));
    dialect.head(fields, accepted(), packs);
    dialect.metadata(fields, metadata);
    return fields;
  }

  private String accepted() {
    return Encodings.listed(stream.line().config().settings().compressions());
  }

  /** Sends a message of a stream. False: wait. */
  boolean send(byte[] array, int offset, int length, boolean compressed) {
    begin(Metadata.EMPTY);
    return stream.write(framed(array, offset, length, compressed ? 1 : 0));
  }

  private ByteBuf framed(byte[] array, int offset, int length, int flags) {
    ByteBuf prefix = Unpooled.buffer(Deframer.PREFIX);
    prefix.writeByte(flags).writeInt(length);
    ByteBuf piece = Unpooled.wrappedBuffer(prefix, Unpooled.wrappedBuffer(array, offset, length));
    if (!dialect.base64()) {
      return piece;
    }
    byte[] bytes = new byte[piece.readableBytes()];
    piece.readBytes(bytes);
    piece.release();
    return Unpooled.wrappedBuffer(Base64.getEncoder().encode(bytes));
  }

  /** Ends a call that has succeeded with a last, or only, message. */
  void finish(byte[] array, int offset, int length, int compression, Metadata trailers) {
    if (dialect.plain()) {
      plain(array, offset, length, compression, trailers);
      return;
    }
    begin(Metadata.EMPTY);
    stream.write(framed(array, offset, length, compression != 0 ? 1 : 0));
    end(Status.OK, trailers);
  }

  private void plain(byte[] array, int offset, int length, int compression, Metadata trailers) {
    begun = true;
    List<Field> fields = Fields.list();
    fields.add(new Field("content-type", type));
    Fields.add(fields, "", early);
    Fields.add(fields, "trailer-", trailers);
    fields.add(new Field("accept-encoding", accepted()));
    if (compression != 0) {
      fields.add(new Field("content-encoding", Encodings.name(compression)));
    }
    if (byGet) {
      fields.add(new Field("vary", "Accept-Encoding"));
    }
    ByteBuf body =
        length == 0 && codec == JSON
            ? Unpooled.wrappedBuffer(EMPTY_OBJECT)
            : Unpooled.wrappedBuffer(array, offset, length);
    whole(stream, 200, fields, body);
  }

  /** Ends the call; what was written before stands. */
  void end(Status status, Metadata trailers) {
    if (dialect.plain()) {
      begun = true;
      List<Field> fields = Fields.list();
      Fields.add(fields, "", early);
      error(stream, ConnectErrors.httpStatus(status.code()), status, trailers, fields);
      return;
    }
    byte[] last = dialect.end(status, trailers);
    if (last != null) {
      begin(Metadata.EMPTY);
      stream.write(framed(last, 0, last.length, dialect.endFlags()));
      stream.end(null);
      return;
    }
    List<Field> fields = GrpcStatus.fitting(status, trailers, stream.mostTrailers());
    if (begun) {
      stream.end(fields);
    } else {
      begun = true;
      fields.add(0, new Field("content-type", type));
      stream.head(200, fields, true);
    }
  }

  // Answers of HTTP itself.

  /** An answer with its whole body. */
  static void whole(HttpStream stream, int status, List<Field> fields, ByteBuf body) {
    int length = body.readableBytes();
    fields.add(new Field("content-length", Integer.toString(length)));
    if (length == 0) {
      body.release();
      stream.head(status, fields, true);
    } else {
      stream.head(status, fields, false);
      stream.write(body);
      stream.end(null);
    }
  }

  /** An error as Connect writes it. */
  static void error(
      HttpStream stream, int code, Status status, Metadata trailers, List<Field> fields) {
    Fields.add(fields, "trailer-", trailers);
    ConnectErrors.addDelivery(fields, status);
    fields.add(new Field("content-type", "application/json"));
    whole(stream, code, fields, Unpooled.wrappedBuffer(ConnectErrors.body(status)));
  }

  /** An answer to what is no call: none of Connect's errors, so that clients go by the status. */
  static void text(HttpStream stream, int code, String message, List<Field> fields) {
    fields.add(new Field("content-type", "text/plain; charset=utf-8"));
    fields.add(new Field("x-content-type-options", "nosniff"));
    fields.add(new Field(Fields.DELIVERY, "refused"));
    byte[] body = (message + "\n").getBytes(StandardCharsets.UTF_8);
    whole(stream, code, fields, Unpooled.wrappedBuffer(body));
  }
}
