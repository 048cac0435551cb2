package io.trunkcall.examples.production;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.trunkcall.Codec;
import io.trunkcall.Method;

/** The methods, as the server and the client both know them. */
final class Users {
  private static final String SERVICE = "/trunkcall.example.v1.UserService/";

  static final Method<GetUserRequest, GetUserResponse> GET =
      Method.unary(
          SERVICE + "GetUser",
          Codec.protobuf(GetUserRequest.getDefaultInstance()),
          Codec.protobuf(GetUserResponse.getDefaultInstance()));

  static final Method<ListUsersRequest, GetUserResponse> LIST =
      Method.serverStream(
          SERVICE + "ListUsers",
          Codec.protobuf(ListUsersRequest.getDefaultInstance()),
          Codec.protobuf(GetUserResponse.getDefaultInstance()));

  private Users() {}
}
