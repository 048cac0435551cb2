package io.trunkcall;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import org.jspecify.annotations.Nullable;

/** Details of a status that are messages of Protobuf: those of google.rpc, or one's own. */
public final class Details {
  private static final String PREFIX = "type.googleapis.com/";

  private Details() {}

  /** A message as a detail, for {@link Status#withDetails}. */
  public static Status.Detail of(Message message) {
    String name = message.getDescriptorForType().getFullName();
    return new Status.Detail(PREFIX + name, message.toByteArray());
  }

  /**
   * The first detail of a type of messages: {@code Details.find(status,
   * BadRequest.getDefaultInstance())}. Null if there is none, or what is there is no such message.
   */
  @SuppressWarnings("unchecked") // its parser makes messages of the same class
  public static <M extends Message> @Nullable M find(Status status, M defaultInstance) {
    String wanted = defaultInstance.getDescriptorForType().getFullName();
    for (Status.Detail detail : status.details()) {
      String url = detail.typeUrl();
      if (url.substring(url.lastIndexOf('/') + 1).equals(wanted)) {
        try {
          return (M) defaultInstance.getParserForType().parseFrom(detail.value());
        } catch (InvalidProtocolBufferException e) {
          return null;
        }
      }
    }
    return null;
  }
}
