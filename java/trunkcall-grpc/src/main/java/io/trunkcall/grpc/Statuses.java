package io.trunkcall.grpc;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Metadata;
import io.trunkcall.Code;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Statuses between the two worlds (spec/status.md 4). */
public final class Statuses {
  /** Where grpc-java's {@code StatusProto} finds the details of a status. */
  static final Metadata.Key<byte[]> DETAILS = Entries.binary("grpc-status-details-bin");

  private Statuses() {}

  /**
   * What Trunkcall says of a call of a stub that has failed, such as its delivery: whether the
   * handler ran. Null for a failure that is not of a call over {@link GrpcChannel}.
   */
  public static @Nullable Status of(Throwable failure) {
    for (Throwable one = failure; one != null; one = one.getCause()) {
      if (one instanceof StatusException found) {
        return found.status();
      }
    }
    return null;
  }

  /** A failure as a stub is told it; the cause has what gRPC does not know. */
  static io.grpc.Status toGrpc(StatusException failure) {
    return io.grpc.Status.fromCodeValue(failure.code().number())
        .withDescription(failure.status().message())
        .withCause(failure);
  }

  /** The trailers of a failure, with its details among them. */
  static Metadata trailers(StatusException failure) {
    Metadata trailers = Entries.toGrpc(failure.trailers());
    Status status = failure.status();
    if (!status.details().isEmpty()) {
      com.google.rpc.Status.Builder told =
          com.google.rpc.Status.newBuilder()
              .setCode(status.code().number())
              .setMessage(status.message());
      for (Status.Detail detail : status.details()) {
        told.addDetails(
            Any.newBuilder()
                .setTypeUrl(detail.typeUrl())
                .setValue(ByteString.copyFrom(detail.value())));
      }
      trailers.put(DETAILS, told.build().toByteArray());
    }
    return trailers;
  }

  /** The failure that a service has closed its call with. Details leave the trailers. */
  static StatusException fromGrpc(io.grpc.Status status, Metadata trailers) {
    String message = status.getDescription();
    Status told =
        Status.of(Code.of(status.getCode().value()), message == null ? "" : message)
            .withDetails(details(trailers));
    StatusException failure = new StatusException(told, Entries.fromGrpc(trailers));
    if (status.getCause() != null) {
      failure.initCause(status.getCause());
    }
    return failure;
  }

  private static List<Status.Detail> details(Metadata trailers) {
    byte[] bytes = trailers.get(DETAILS);
    List<Status.Detail> found = new ArrayList<>();
    if (bytes == null) {
      return found;
    }
    try {
      for (Any any : com.google.rpc.Status.parseFrom(bytes).getDetailsList()) {
        found.add(new Status.Detail(any.getTypeUrl(), any.getValue().toByteArray()));
      }
    } catch (InvalidProtocolBufferException e) {
      return found; // no details: they go as metadata, as they are
    }
    trailers.discardAll(DETAILS);
    return found;
  }
}
