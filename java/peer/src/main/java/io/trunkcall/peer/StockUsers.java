package io.trunkcall.peer;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.stub.StreamObserver;

/** The example service on the stock stubs. */
final class StockUsers extends UserServiceGrpc.UserServiceImplBase {
  @Override
  public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
    StockAnswers.one(answer, () -> Users.user(request.getUserId()));
  }

  @Override
  public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> answers) {
    StockAnswers.all(answers, () -> Users.listed(request));
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
      public void onError(Throwable gone) {
        // the caller is gone, and there is nobody to answer
      }

      @Override
      public void onCompleted() {
        StockAnswers.one(answer, () -> ImportUsersResponse.newBuilder().setCount(count).build());
      }
    };
  }

  @Override
  public StreamObserver<GetUserRequest> watchUsers(StreamObserver<GetUserResponse> answers) {
    return StockAnswers.each(answers, request -> Users.user(request.getUserId()));
  }
}
