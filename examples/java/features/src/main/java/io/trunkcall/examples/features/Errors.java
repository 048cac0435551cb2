package io.trunkcall.examples.features;

import com.google.rpc.BadRequest;
import com.google.rpc.BadRequest.FieldViolation;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Details;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import io.trunkcall.ServerCall;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Statuses with details, and what their delivery is for. */
public final class Errors {
  private Errors() {}

  static GetUserResponse answer(GetUserRequest request, ServerCall call) throws IOException {
    if (request.getUserId() < 1) {
      BadRequest detail =
          BadRequest.newBuilder()
              .addFieldViolations(
                  FieldViolation.newBuilder()
                      .setField("user_id")
                      .setDescription("must be at least 1"))
              .build();
      throw new StatusException(
          Status.of(Code.INVALID_ARGUMENT, "ids begin at 1")
              .withDetails(List.of(Details.of(detail))));
    }
    if (request.getUserId() > 1000) {
      throw new IOException("disk on fire"); // callers see an id, the log the text beside it
    }
    return Users.user("user-" + request.getUserId());
  }

  public static void main(String[] args) throws IOException {
    Server server = Server.builder().serve(Handler.unary(Users.GET, Errors::answer)).build();
    try (Client client = Client.of(server.listen("127.0.0.1:0"))) {
      try {
        client.call(Users.GET, Users.request(0));
      } catch (StatusException e) {
        Status status = e.status();
        System.out.printf(
            "%s, %s: %s%n", status.code(), status.delivery().word(), status.message());
        BadRequest bad = Details.find(status, BadRequest.getDefaultInstance());
        if (bad != null) {
          FieldViolation first = bad.getFieldViolations(0);
          System.out.println(first.getField() + " " + first.getDescription());
        }
      }

      server.stop(Duration.ofSeconds(30));
      try {
        client.call(Users.GET, Users.request(7));
      } catch (StatusException e) {
        System.out.println(e.code() + ": " + advice(e.status()));
      }
    }
  }

  /** What the caller may do about a failure. */
  static String advice(Status status) {
    return switch (status.delivery()) {
      case NOT_SENT, REFUSED -> "it did not run; repeat it if you like";
      case EXECUTED -> "the handler itself said so";
      case UNKNOWN -> "it may have run; repeat it only if that does no harm";
    };
  }
}
