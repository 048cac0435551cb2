package io.trunkcall.internal.transport.http;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** How a call ended, as gRPC's trailers tell it (http.md 3). */
final class GrpcStatus {
  private static final int SHORT = 128; // characters of a message that does not fit
  private static final String HEX = "0123456789ABCDEF";

  private GrpcStatus() {}

  /** The trailers. */
  static List<Field> fields(Status status, Metadata trailers) {
    List<Field> fields = Fields.list();
    fields.add(new Field("grpc-status", Integer.toString(status.code().number())));
    if (!status.ok()) {
      if (!status.message().isEmpty()) {
        fields.add(new Field("grpc-message", percentEncoded(status.message())));
      }
      if (!status.details().isEmpty()) {
        fields.add(new Field(Fields.DETAILS, Fields.encoded(rpcStatus(status))));
      }
      if (status.delivery() != Delivery.EXECUTED) {
        fields.add(new Field(Fields.DELIVERY, delivery(status)));
      }
      long after = retryAfterMillis(status);
      if (after > 0) {
        fields.add(new Field("grpc-retry-pushback-ms", Long.toString(after)));
      }
    }
    Fields.addGrpc(fields, trailers);
    return fields;
  }

  /** The same, short enough for a peer that takes so many bytes. */
  static List<Field> fitting(Status status, Metadata trailers, long most) {
    List<Field> fields = fields(status, trailers);
    if (Fields.size(fields) <= most) {
      return fields;
    }
    Status bare = status.withDetails(List.of());
    fields = fields(bare, trailers);
    if (Fields.size(fields) <= most) {
      return fields;
    }
    String message = status.message();
    if (message.length() > SHORT) {
      message = message.substring(0, SHORT);
    }
    Status shortened =
        Status.of(status.code(), message)
            .withDelivery(status.delivery())
            .withRetryAfter(status.retryAfter());
    return fields(shortened, Metadata.EMPTY);
  }

  static String delivery(Status status) {
    return status.delivery().name().toLowerCase(Locale.ROOT);
  }

  /** Of a refusal: when it may be made again, in ms; 0: not said. */
  static long retryAfterMillis(Status status) {
    if (status.delivery() != Delivery.REFUSED) {
      return 0;
    }
    long nanos = status.retryAfter().toNanos();
    return nanos / 1_000_000 + (nanos % 1_000_000 > 0 ? 1 : 0);
  }

  /** A google.rpc.Status: code 1, message 2, details 3, each an Any of type URL 1 and value 2. */
  private static byte[] rpcStatus(Status status) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(bytes);
      out.writeInt32(1, status.code().number());
      if (!status.message().isEmpty()) {
        out.writeString(2, status.message());
      }
      for (Status.Detail detail : status.details()) {
        ByteArrayOutputStream any = new ByteArrayOutputStream();
        CodedOutputStream inner = CodedOutputStream.newInstance(any);
        inner.writeString(1, detail.typeUrl());
        inner.writeByteArray(2, detail.value());
        inner.flush();
        out.writeBytes(3, ByteString.copyFrom(any.toByteArray()));
      }
      out.flush();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }

  /** As in grpc-message: what is not printable ASCII, and %; no field may end with a space. */
  static String percentEncoded(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    StringBuilder made = new StringBuilder(bytes.length);
    for (int at = 0; at < bytes.length; at++) {
      int one = bytes[at] & 0xFF;
      boolean edge = at == 0 || at == bytes.length - 1;
      if (one >= ' ' && one <= '~' && one != '%' && !(one == ' ' && edge)) {
        made.append((char) one);
      } else {
        made.append('%').append(HEX.charAt(one >> 4)).append(HEX.charAt(one & 15));
      }
    }
    return made.toString();
  }
}
