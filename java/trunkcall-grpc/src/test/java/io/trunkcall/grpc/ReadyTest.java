package io.trunkcall.grpc;

import static io.trunkcall.grpc.Users.user;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whoever sends for as long as the call is ready learns of the call's end. */
@Timeout(90)
class ReadyTest {
  @Test
  void aServiceThatSendsWhileItIsReadyIsToldThatItsCallerIsGone() throws Exception {
    CountDownLatch cancelled = new CountDownLatch(1);
    Users endless =
        new Users() {
          @Override
          public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> answers) {
            ServerCallStreamObserver<GetUserResponse> call =
                (ServerCallStreamObserver<GetUserResponse>) answers;
            call.setOnCancelHandler(cancelled::countDown);
            call.setOnReadyHandler(
                () -> {
                  while (call.isReady()) {
                    call.onNext(user(1));
                  }
                });
          }
        };
    try (Pair pair = new Pair(endless)) {
      CompletableFuture<Throwable> ended = new CompletableFuture<>();
      pair.async()
          .listUsers(
              ListUsersRequest.getDefaultInstance(),
              new ClientResponseObserver<ListUsersRequest, GetUserResponse>() {
                private ClientCallStreamObserver<ListUsersRequest> call;

                @Override
                public void beforeStart(ClientCallStreamObserver<ListUsersRequest> started) {
                  call = started;
                }

                @Override
                public void onNext(GetUserResponse answer) {
                  call.cancel("enough", null);
                }

                @Override
                public void onError(Throwable failure) {
                  ended.complete(failure);
                }

                @Override
                public void onCompleted() {
                  Assertions.fail("the service never ends");
                }
              });
      assertEquals(Status.Code.CANCELLED, Status.fromThrowable(Pair.await(ended)).getCode());
      Pair.await(cancelled);
    }
  }

  @Test
  void aStubThatSendsWhileItIsReadyIsToldHowItsCallEnded() throws Exception {
    Users refusing =
        new Users() {
          @Override
          public StreamObserver<GetUserRequest> watchUsers(
              StreamObserver<GetUserResponse> answers) {
            answers.onError(Status.ABORTED.asRuntimeException());
            return new Pair.Collected<>();
          }
        };
    try (Pair pair = new Pair(refusing)) {
      CompletableFuture<Throwable> ended = new CompletableFuture<>();
      StreamObserver<GetUserRequest> unused =
          pair.async()
              .watchUsers(
                  new ClientResponseObserver<GetUserRequest, GetUserResponse>() {
                    @Override
                    public void beforeStart(ClientCallStreamObserver<GetUserRequest> call) {
                      call.setOnReadyHandler(
                          () -> {
                            while (call.isReady()) {
                              call.onNext(GetUserRequest.getDefaultInstance());
                            }
                          });
                    }

                    @Override
                    public void onNext(GetUserResponse answer) {}

                    @Override
                    public void onError(Throwable failure) {
                      ended.complete(failure);
                    }

                    @Override
                    public void onCompleted() {
                      ended.complete(new AssertionError("it has failed"));
                    }
                  });
      StatusRuntimeException failure =
          Assertions.assertInstanceOf(StatusRuntimeException.class, Pair.await(ended));
      assertEquals(Status.Code.ABORTED, failure.getStatus().getCode());
    }
  }
}
