package io.trunkcall.examples.quickstart;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import io.trunkcall.ServerCall;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.time.Duration;

/** A server and its client in one file: a call that succeeds and one that fails. */
public final class Quickstart {
  // A method is described once, by its name and its two Protobuf messages, and used at both ends.
  static final Method<GetUserRequest, GetUserResponse> GET_USER =
      Method.unary(
          "/trunkcall.example.v1.UserService/GetUser",
          Codec.protobuf(GetUserRequest.getDefaultInstance()),
          Codec.protobuf(GetUserResponse.getDefaultInstance()));

  static GetUserResponse answer(GetUserRequest request, ServerCall call) {
    if (request.getUserId() < 1) {
      throw new StatusException(
          Code.INVALID_ARGUMENT, "user_id " + request.getUserId() + ": ids begin at 1");
    }
    return GetUserResponse.newBuilder().setName("user-" + request.getUserId()).build();
  }

  public static void main(String[] args) throws IOException {
    Server server = Server.builder().serve(Handler.unary(GET_USER, Quickstart::answer)).build();
    String address = server.listen("127.0.0.1:0"); // any free port

    CallOptions limited = CallOptions.NONE.withTimeout(Duration.ofSeconds(30));
    try (Client client = Client.of(address)) {
      GetUserResponse user = client.call(GET_USER, request(7), limited);
      System.out.println("found " + user.getName());

      try {
        client.call(GET_USER, request(0), limited);
      } catch (StatusException e) {
        Status status = e.status();
        System.out.printf(
            "%s, %s: %s%n", status.code(), status.delivery().word(), status.message());
      }
    }
    server.stop(Duration.ofSeconds(5)); // waits for calls that still run
  }

  private static GetUserRequest request(long id) {
    return GetUserRequest.newBuilder().setUserId(id).build();
  }
}
