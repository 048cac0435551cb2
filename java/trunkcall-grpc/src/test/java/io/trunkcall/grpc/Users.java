package io.trunkcall.grpc;

import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;

/** The example service, with the base that the stock plugin generates. */
class Users extends UserServiceGrpc.UserServiceImplBase {
  static GetUserResponse user(long id) {
    return GetUserResponse.newBuilder().setName("user-" + id).build();
  }

  static GetUserRequest request(long id) {
    return GetUserRequest.newBuilder().setUserId(id).build();
  }

  @Override
  public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
    if (request.getUserId() < 1) {
      answer.onError(wrong("user_id"));
      return;
    }
    answer.onNext(user(request.getUserId()));
    answer.onCompleted();
  }

  static RuntimeException wrong(String field) {
    BadRequest detail =
        BadRequest.newBuilder()
            .addFieldViolations(BadRequest.FieldViolation.newBuilder().setField(field))
            .build();
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(Status.Code.INVALID_ARGUMENT.value())
            .setMessage("ids begin at 1")
            .addDetails(Any.pack(detail))
            .build());
  }

  @Override
  public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> answers) {
    for (int id = 1; id <= request.getCount(); id++) {
      answers.onNext(user(id));
    }
    answers.onCompleted();
  }

  @Override
  public StreamObserver<GetUserResponse> importUsers(StreamObserver<ImportUsersResponse> answer) {
    return new StreamObserver<>() {
      private long count;

      @Override
      public void onNext(GetUserResponse user) {
        count++;
      }

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {
        answer.onNext(ImportUsersResponse.newBuilder().setCount(count).build());
        answer.onCompleted();
      }
    };
  }

  @Override
  public StreamObserver<GetUserRequest> watchUsers(StreamObserver<GetUserResponse> answers) {
    return new StreamObserver<>() {
      @Override
      public void onNext(GetUserRequest request) {
        if (request.getUserId() < 1) {
          answers.onError(wrong("user_id"));
        } else {
          answers.onNext(user(request.getUserId()));
        }
      }

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {
        answers.onCompleted();
      }
    };
  }
}
