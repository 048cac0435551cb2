package io.trunkcall.grpc;

import static io.trunkcall.grpc.Users.request;
import static io.trunkcall.grpc.Users.user;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.ListenableFuture;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.trunkcall.Client;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Deadlines, cancellation, and gRPC's context of both ends. */
@Timeout(90)
class EndsTest {
  /** Answers nothing, and tells how its calls end. */
  private static final class Silent extends Users {
    final CompletableFuture<Context> began = new CompletableFuture<>();
    final CompletableFuture<Throwable> ended = new CompletableFuture<>();
    final CountDownLatch told = new CountDownLatch(1);

    @Override
    public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
      begin(answer);
    }

    @Override
    public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> answers) {
      answers.onNext(user(1));
      begin(answers);
    }

    private void begin(StreamObserver<GetUserResponse> answers) {
      Context context = Context.current();
      context.addListener(of -> ended.complete(of.cancellationCause()), Runnable::run);
      ((ServerCallStreamObserver<GetUserResponse>) answers).setOnCancelHandler(told::countDown);
      began.complete(context);
    }
  }

  @Test
  void aServiceHasTheDeadlineOfItsCall() throws Exception {
    CompletableFuture<Deadline> seen = new CompletableFuture<>();
    Users service =
        new Users() {
          @Override
          public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
            seen.complete(Context.current().getDeadline());
            super.getUser(request, answer);
          }
        };
    try (Pair pair = new Pair(service)) {
      pair.blocking().withDeadlineAfter(1, TimeUnit.MINUTES).getUser(request(7));
      long left = Pair.await(seen).timeRemaining(TimeUnit.SECONDS);
      assertTrue(left <= 60, "" + left);
    }
  }

  @Test
  void aCallWithoutADeadlineHasNone() throws Exception {
    Silent service = new Silent();
    try (Pair pair = new Pair(service)) {
      ListenableFuture<GetUserResponse> call =
          UserServiceGrpc.newFutureStub(pair.channel).getUser(request(7));
      assertNull(Pair.await(service.began).getDeadline());
      call.cancel(true);
    }
  }

  @Test
  void aServicesContextIsCancelledAtTheDeadline() throws Exception {
    Silent service = new Silent();
    try (Pair pair = new Pair(service)) {
      StatusRuntimeException failure =
          assertThrows(
              StatusRuntimeException.class,
              () -> pair.blocking().withDeadlineAfter(2, TimeUnit.SECONDS).getUser(request(7)));
      assertEquals(Status.Code.DEADLINE_EXCEEDED, failure.getStatus().getCode());
      if (service.began.isDone()) { // it does not begin where the machine took the time
        assertNotNull(Pair.await(service.ended));
        Pair.await(service.told);
      }
    }
  }

  @Test
  void aDeadlineThatHasPassedSendsNothing() throws Exception {
    Silent service = new Silent();
    try (Pair pair = new Pair(service)) {
      StatusRuntimeException failure =
          assertThrows(
              StatusRuntimeException.class,
              () -> pair.blocking().withDeadlineAfter(-1, TimeUnit.SECONDS).getUser(request(7)));
      assertEquals(Status.Code.DEADLINE_EXCEEDED, failure.getStatus().getCode());
      assertTrue(!service.began.isDone());
    }
  }

  @Test
  void aFutureThatIsCancelledCancelsTheService() throws Exception {
    Silent service = new Silent();
    try (Pair pair = new Pair(service)) {
      ListenableFuture<GetUserResponse> call =
          UserServiceGrpc.newFutureStub(pair.channel).getUser(request(7));
      Pair.await(service.began);
      call.cancel(true);
      StatusRuntimeException cause =
          assertInstanceOf(StatusRuntimeException.class, Pair.await(service.ended));
      assertEquals(Status.Code.CANCELLED, cause.getStatus().getCode());
      Pair.await(service.told);
    }
  }

  @Test
  void aContextThatIsCancelledCancelsTheCallsMadeInIt() throws Exception {
    Silent service = new Silent();
    try (Pair pair = new Pair(service)) {
      Context.CancellableContext context = Context.current().withCancellation();
      Iterator<GetUserResponse> responses =
          context.call(
              () -> pair.blocking().listUsers(ListUsersRequest.newBuilder().setCount(1).build()));
      assertEquals(user(1), responses.next());
      context.cancel(new IllegalStateException("enough"));
      StatusRuntimeException failure =
          assertThrows(StatusRuntimeException.class, responses::hasNext);
      assertEquals(Status.Code.CANCELLED, failure.getStatus().getCode());
      assertNotNull(Pair.await(service.ended));
    }
  }

  @Test
  void aContextThatWasCancelledSendsNothing() throws Exception {
    Silent service = new Silent();
    try (Pair pair = new Pair(service)) {
      Context.CancellableContext context = Context.current().withCancellation();
      context.cancel(null);
      StatusRuntimeException failure =
          assertThrows(
              StatusRuntimeException.class,
              () -> context.run(() -> pair.blocking().getUser(request(7))));
      assertEquals(Status.Code.CANCELLED, failure.getStatus().getCode());
      assertTrue(!service.began.isDone());
    }
  }

  @Test
  void theDeadlineOfAContextHoldsForItsCalls() throws Exception {
    Silent service = new Silent();
    ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
    try (Pair pair = new Pair(service);
        Context.CancellableContext context =
            Context.current().withDeadlineAfter(1, TimeUnit.SECONDS, timer)) {
      StatusRuntimeException failure =
          assertThrows(
              StatusRuntimeException.class,
              () -> context.run(() -> pair.blocking().getUser(request(7))));
      assertEquals(Status.Code.DEADLINE_EXCEEDED, failure.getStatus().getCode());
    } finally {
      timer.shutdownNow();
    }
  }

  /** Calls another service, in its own context or in one that is detached. */
  private static final class Onward extends Users {
    volatile UserServiceGrpc.UserServiceBlockingStub to;

    @Override
    public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
      Context context = request.getUserId() == 1 ? Context.current() : Context.current().fork();
      context.run(() -> answer.onNext(to.getUser(request)));
      answer.onCompleted();
    }
  }

  @Test
  void aServiceForwardsItsDeadlineUnlessItLeavesItsContext() throws Exception {
    java.util.concurrent.BlockingQueue<Boolean> deadlines =
        new java.util.concurrent.LinkedBlockingQueue<>();
    Users last =
        new Users() {
          @Override
          public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
            deadlines.add(Context.current().getDeadline() != null);
            super.getUser(request, answer);
          }
        };
    Onward first = new Onward();
    try (Pair behind = new Pair(last);
        Pair ahead = new Pair(first)) {
      first.to = behind.blocking();
      UserServiceGrpc.UserServiceBlockingStub stub =
          ahead.blocking().withDeadlineAfter(1, TimeUnit.MINUTES);
      assertEquals(user(1), stub.getUser(request(1)));
      assertEquals(true, Pair.next(deadlines));
      assertEquals(user(2), stub.getUser(request(2)));
      assertEquals(false, Pair.next(deadlines));
    }
  }

  @Test
  void aClientThatIsGoneCancelsTheService() throws Exception {
    Silent service = new Silent();
    try (Pair pair = new Pair(service)) {
      Client other = Client.of("127.0.0.1:" + pair.server.port());
      ListenableFuture<GetUserResponse> call =
          UserServiceGrpc.newFutureStub(GrpcChannel.of(other)).getUser(request(7));
      Pair.await(service.began);
      other.close();
      assertThrows(StatusRuntimeException.class, () -> Pair.await(call));
      assertNotNull(Pair.await(service.ended));
      Pair.await(service.told);
    }
  }

  @Test
  void aContextEndsWithItsCall() throws Exception {
    CompletableFuture<Context> seen = new CompletableFuture<>();
    CompletableFuture<Throwable> ended = new CompletableFuture<>();
    Users service =
        new Users() {
          @Override
          public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
            Context.current()
                .addListener(
                    of ->
                        ended.complete(
                            of.cancellationCause() == null
                                ? new TimeoutException("none")
                                : of.cancellationCause()),
                    Runnable::run);
            seen.complete(Context.current());
            super.getUser(request, answer);
          }
        };
    try (Pair pair = new Pair(service)) {
      pair.blocking().getUser(request(7));
      assertEquals("none", Pair.await(ended).getMessage());
      assertTrue(Pair.await(seen).isCancelled());
    }
  }

  @Test
  void aBlockingStubIsRefusedOnAnEventLoop() throws Exception {
    try (Pair pair = new Pair(new Users())) {
      CompletableFuture<Throwable> refused = new CompletableFuture<>();
      pair.async()
          .withExecutor(Runnable::run) // on the loop
          .getUser(
              request(7),
              new StreamObserver<>() {
                @Override
                public void onNext(GetUserResponse user) {
                  try {
                    pair.blocking().getUser(request(8));
                    refused.complete(null);
                  } catch (RuntimeException e) {
                    refused.complete(e);
                  }
                }

                @Override
                public void onError(Throwable error) {
                  refused.completeExceptionally(error);
                }

                @Override
                public void onCompleted() {}
              });
      IllegalStateException failure =
          assertInstanceOf(IllegalStateException.class, Pair.await(refused));
      assertTrue(failure.getMessage().contains("event loop"), failure.getMessage());
    }
  }
}
