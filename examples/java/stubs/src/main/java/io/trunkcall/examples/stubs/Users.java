package io.trunkcall.examples.stubs;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;

/** A service as one writes it for grpc-java: it knows nothing of Trunkcall. */
final class Users extends UserServiceGrpc.UserServiceImplBase {
  @Override
  public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
    if (request.getUserId() < 1) {
      answer.onError(
          Status.INVALID_ARGUMENT.withDescription("ids begin at 1").asRuntimeException());
      return;
    }
    answer.onNext(user(request.getUserId()));
    answer.onCompleted();
  }

  @Override
  public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> answers) {
    for (int id = 1; id <= request.getCount(); id++) {
      answers.onNext(user(id));
    }
    answers.onCompleted();
  }

  private static GetUserResponse user(long id) {
    return GetUserResponse.newBuilder().setName("user-" + id).build();
  }
}
