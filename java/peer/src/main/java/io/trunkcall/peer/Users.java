package io.trunkcall.peer;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ResourceInfo;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Receiver;
import io.trunkcall.Sender;
import io.trunkcall.ServerCall;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.Iterator;
import java.util.List;
import java.util.stream.LongStream;

/** The example service; spec/proto/example/v1/user.proto has its rules. */
final class Users {
  private static final long LAST_USER = 999_999_999;

  private static final String SERVICE = "/trunkcall.example.v1.UserService/";
  private static final Codec<GetUserRequest> GET =
      Codec.protobuf(GetUserRequest.getDefaultInstance());
  private static final Codec<GetUserResponse> USER =
      Codec.protobuf(GetUserResponse.getDefaultInstance());
  private static final Codec<ListUsersRequest> LIST =
      Codec.protobuf(ListUsersRequest.getDefaultInstance());
  private static final Codec<ImportUsersResponse> IMPORTED =
      Codec.protobuf(ImportUsersResponse.getDefaultInstance());

  private Users() {}

  static List<Handler> handlers() {
    return List.of(
        Handler.unary(
            Method.unary(SERVICE + "GetUser", GET, USER),
            (request, call) -> user(request.getUserId())),
        Handler.serverStream(Method.serverStream(SERVICE + "ListUsers", LIST, USER), Users::list),
        Handler.clientStream(
            Method.clientStream(SERVICE + "ImportUsers", USER, IMPORTED), Users::count),
        Handler.bidiStream(Method.bidiStream(SERVICE + "WatchUsers", GET, USER), Users::watch));
  }

  private static void list(
      ListUsersRequest request, Sender<GetUserResponse> responses, ServerCall call) {
    Iterator<GetUserResponse> users = listed(request);
    while (users.hasNext()) {
      if (!responses.send(users.next())) {
        return;
      }
    }
  }

  static Iterator<GetUserResponse> listed(ListUsersRequest request) {
    if (request.getCount() < 0) {
      throw invalid("count", "must not be negative");
    }
    return LongStream.rangeClosed(1, request.getCount()).mapToObj(Users::user).iterator();
  }

  private static ImportUsersResponse count(Receiver<GetUserResponse> requests, ServerCall call) {
    long count = 0;
    while (requests.receive() != null) {
      count++;
    }
    return ImportUsersResponse.newBuilder().setCount(count).build();
  }

  private static void watch(
      Receiver<GetUserRequest> requests, Sender<GetUserResponse> responses, ServerCall call) {
    for (GetUserRequest request : requests) {
      if (!responses.send(user(request.getUserId()))) {
        return;
      }
    }
  }

  static GetUserResponse user(long number) {
    if (number < 1) {
      throw invalid("user_id", "must be at least 1");
    }
    if (number > LAST_USER) {
      throw failure(
          Code.NOT_FOUND,
          "there is no user " + number,
          ResourceInfo.newBuilder()
              .setResourceType("user")
              .setResourceName(Long.toString(number))
              .setDescription("ids end at " + LAST_USER)
              .build());
    }
    String name = "user-" + number;
    return GetUserResponse.newBuilder().setName(name).setEmail(name + "@example.com").build();
  }

  private static StatusException invalid(String field, String rule) {
    return failure(
        Code.INVALID_ARGUMENT,
        field + " " + rule,
        BadRequest.newBuilder()
            .addFieldViolations(
                BadRequest.FieldViolation.newBuilder().setField(field).setDescription(rule))
            .build());
  }

  private static StatusException failure(Code code, String message, Message detail) {
    Any packed = Any.pack(detail);
    Status.Detail shown = new Status.Detail(packed.getTypeUrl(), packed.getValue().toByteArray());
    return new StatusException(Status.of(code, message).withDetails(List.of(shown)));
  }
}
