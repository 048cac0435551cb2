package io.trunkcall.lab.grpc;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.Code;
import com.google.rpc.ResourceInfo;
import com.google.rpc.Status;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;

/** The example service on the stock stubs; see user.proto for its rules. */
final class UserService extends UserServiceGrpc.UserServiceImplBase {
  private static final long LAST_USER = 999_999_999;

  @Override
  public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
    try {
      answer.onNext(user(request.getUserId()));
    } catch (StatusRuntimeException e) {
      answer.onError(e);
      return;
    }
    answer.onCompleted();
  }

  @Override
  public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> answers) {
    if (request.getCount() < 0) {
      answers.onError(invalid("count", "must not be negative"));
      return;
    }
    ServerCallStreamObserver<GetUserResponse> call =
        (ServerCallStreamObserver<GetUserResponse>) answers;
    call.setOnCancelHandler(() -> {});
    call.setOnReadyHandler(
        new Runnable() {
          private long sent;
          private boolean done;

          @Override
          public void run() {
            try {
              while (sent < request.getCount() && call.isReady() && !call.isCancelled()) {
                call.onNext(user(++sent));
              }
            } catch (StatusRuntimeException e) {
              sent = request.getCount();
              done = true;
              call.onError(e);
            }
            if (sent == request.getCount() && !done) {
              done = true;
              call.onCompleted();
            }
          }
        });
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
      public void onError(Throwable failure) {}

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
      private boolean failed;

      @Override
      public void onNext(GetUserRequest request) {
        if (failed) {
          return;
        }
        try {
          answers.onNext(user(request.getUserId()));
        } catch (StatusRuntimeException e) {
          failed = true;
          answers.onError(e);
        }
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {
        if (!failed) {
          answers.onCompleted();
        }
      }
    };
  }

  private static GetUserResponse user(long id) {
    if (id < 1) {
      throw invalid("user_id", "must be at least 1");
    }
    if (id > LAST_USER) {
      throw notFound(id);
    }
    String name = "user-" + id;
    return GetUserResponse.newBuilder().setName(name).setEmail(name + "@example.com").build();
  }

  private static StatusRuntimeException invalid(String field, String rule) {
    BadRequest.FieldViolation violation =
        BadRequest.FieldViolation.newBuilder().setField(field).setDescription(rule).build();
    return failure(
        Code.INVALID_ARGUMENT,
        field + " " + rule,
        BadRequest.newBuilder().addFieldViolations(violation).build());
  }

  private static StatusRuntimeException notFound(long id) {
    return failure(
        Code.NOT_FOUND,
        "there is no user " + id,
        ResourceInfo.newBuilder()
            .setResourceType("user")
            .setResourceName(Long.toString(id))
            .setDescription("ids end at " + LAST_USER)
            .build());
  }

  private static StatusRuntimeException failure(Code code, String message, Message detail) {
    return StatusProto.toStatusRuntimeException(
        Status.newBuilder()
            .setCode(code.getNumber())
            .setMessage(message)
            .addDetails(Any.pack(detail))
            .build());
  }
}
