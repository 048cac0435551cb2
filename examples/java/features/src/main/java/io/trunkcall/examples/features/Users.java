package io.trunkcall.examples.features;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.trunkcall.Codec;
import io.trunkcall.Method;

/** The methods of the service that the examples call, and messages of it. */
final class Users {
  private static final String SERVICE = "/trunkcall.example.v1.UserService/";
  private static final Codec<GetUserRequest> REQUEST =
      Codec.protobuf(GetUserRequest.getDefaultInstance());
  private static final Codec<GetUserResponse> USER =
      Codec.protobuf(GetUserResponse.getDefaultInstance());
  private static final Codec<ListUsersRequest> LIST_REQUEST =
      Codec.protobuf(ListUsersRequest.getDefaultInstance());
  private static final Codec<ImportUsersResponse> IMPORTED =
      Codec.protobuf(ImportUsersResponse.getDefaultInstance());

  static final Method<GetUserRequest, GetUserResponse> GET =
      Method.unary(SERVICE + "GetUser", REQUEST, USER);

  // One answer after the other, one request after the other, both.
  static final Method<ListUsersRequest, GetUserResponse> LIST =
      Method.serverStream(SERVICE + "ListUsers", LIST_REQUEST, USER);
  static final Method<GetUserResponse, ImportUsersResponse> IMPORT =
      Method.clientStream(SERVICE + "ImportUsers", USER, IMPORTED);
  static final Method<GetUserRequest, GetUserResponse> WATCH =
      Method.bidiStream(SERVICE + "WatchUsers", REQUEST, USER);

  private Users() {}

  static GetUserRequest request(long id) {
    return GetUserRequest.newBuilder().setUserId(id).build();
  }

  static GetUserResponse user(String name) {
    return GetUserResponse.newBuilder().setName(name).build();
  }
}
