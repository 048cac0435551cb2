package io.trunkcall.grpc;

import static io.trunkcall.grpc.Users.request;
import static io.trunkcall.grpc.Users.user;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.CallStreamObserver;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages come as they are asked for, and senders know when to send. */
@Timeout(90)
class FlowTest {
  private static final String LONG = "x".repeat(32 << 10);

  /** How much is sent at most, in messages: several times what a peer may leave unread. */
  private static final int MOST = (1 << 30) / (32 << 10);

  /** How many messages are sent behind those after which the call was not ready. */
  private static final int MORE = 100;

  /**
   * Sends while the call is ready. How much that is at first depends on how fast each side is: the
   * peer lets in more where a path seems to hold more, and again what nobody has taken for a second
   * (limits.md 2). So the messages end behind the first pause, however late it comes.
   */
  private static final class Eager {
    final CompletableFuture<Integer> first = new CompletableFuture<>(); // sent before it waited
    private final AtomicInteger sent = new AtomicInteger();
    private final AtomicInteger count = new AtomicInteger(MOST);

    void sendTo(CallStreamObserver<GetUserResponse> to) {
      while (to.isReady() && sent.get() < count.get()) {
        to.onNext(GetUserResponse.newBuilder().setName(LONG).build());
        if (sent.incrementAndGet() == count.get()) {
          to.onCompleted();
        }
      }
      // The first of a client's messages may be sent before there is a connection.
      if (sent.get() > 1 && !first.isDone()) {
        count.compareAndSet(MOST, sent.get() + MORE);
        first.complete(sent.get());
      }
    }

    /** How many messages the call has altogether. */
    int counted() {
      int before = Pair.await(first);
      assertTrue(before < MOST, "sent " + before + " although nobody took them");
      return count.get();
    }
  }

  /** What a call's listener is told. */
  private static final class Told<R> extends ClientCall.Listener<R> {
    final BlockingQueue<Object> events = new LinkedBlockingQueue<>();

    @Override
    public void onHeaders(Metadata headers) {
      events.add("headers");
    }

    @Override
    public void onMessage(R message) {
      events.add(message);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      events.add(status.getCode());
    }
  }

  @Test
  void aUnaryResponseWaitsUntilItIsAskedFor() throws Exception {
    try (Pair pair = new Pair(new Users())) {
      Told<GetUserResponse> told = new Told<>();
      ClientCall<GetUserRequest, GetUserResponse> call =
          pair.channel.newCall(UserServiceGrpc.getGetUserMethod(), CallOptions.DEFAULT);
      call.start(told, new Metadata());
      call.sendMessage(request(7));
      call.halfClose();
      assertEquals("headers", Pair.next(told.events));
      assertTrue(told.events.isEmpty());
      call.request(1);
      assertEquals(user(7), Pair.next(told.events));
      assertEquals(Status.Code.OK, Pair.next(told.events));
    }
  }

  @Test
  void noMoreResponsesComeThanAreAskedFor() throws Exception {
    try (Pair pair = new Pair(new Users())) {
      Told<GetUserResponse> told = new Told<>();
      ClientCall<ListUsersRequest, GetUserResponse> call =
          pair.channel.newCall(UserServiceGrpc.getListUsersMethod(), CallOptions.DEFAULT);
      call.start(told, new Metadata());
      call.sendMessage(ListUsersRequest.newBuilder().setCount(3).build());
      call.halfClose();
      call.request(2);
      assertEquals("headers", Pair.next(told.events));
      assertEquals(user(1), Pair.next(told.events));
      assertEquals(user(2), Pair.next(told.events));
      // Another call takes the same way: what would come has come.
      pair.blocking().getUser(request(1));
      assertTrue(told.events.isEmpty());
      call.request(1);
      assertEquals(user(3), Pair.next(told.events));
      assertEquals(Status.Code.OK, Pair.next(told.events)); // which nobody has to ask for
    }
  }

  @Test
  void aServiceSendsWhileItIsReadyAndGoesOnWhenItIsAgain() throws Exception {
    Eager eager = new Eager();
    Users service =
        new Users() {
          @Override
          public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> to) {
            ServerCallStreamObserver<GetUserResponse> answers =
                (ServerCallStreamObserver<GetUserResponse>) to;
            answers.setOnReadyHandler(() -> eager.sendTo(answers));
          }
        };
    try (Pair pair = new Pair(service)) {
      Told<GetUserResponse> told = new Told<>();
      ClientCall<ListUsersRequest, GetUserResponse> call =
          pair.channel.newCall(UserServiceGrpc.getListUsersMethod(), CallOptions.DEFAULT);
      call.start(told, new Metadata());
      call.sendMessage(ListUsersRequest.getDefaultInstance());
      call.halfClose();
      int count = eager.counted();
      call.request(count);
      assertEquals("headers", Pair.next(told.events));
      for (int i = 0; i < count; i++) {
        assertEquals(LONG, ((GetUserResponse) Pair.next(told.events)).getName());
      }
      assertEquals(Status.Code.OK, Pair.next(told.events));
    }
  }

  @Test
  void aClientSendsWhileItIsReadyAndGoesOnWhenItIsAgain() throws Exception {
    sendsWhileItIsReady(UnaryOperator.identity());
  }

  /** It is told that it is ready by the thread that begins the call. */
  @Test
  void soDoesAClientWithoutThreadsOfItsOwn() throws Exception {
    sendsWhileItIsReady(stub -> stub.withExecutor(Runnable::run));
  }

  private static void sendsWhileItIsReady(UnaryOperator<UserServiceGrpc.UserServiceStub> of)
      throws Exception {
    Eager eager = new Eager();
    CompletableFuture<ServerCallStreamObserver<ImportUsersResponse>> serving =
        new CompletableFuture<>();
    Users service =
        new Users() {
          @Override
          public StreamObserver<GetUserResponse> importUsers(
              StreamObserver<ImportUsersResponse> answer) {
            ServerCallStreamObserver<ImportUsersResponse> call =
                (ServerCallStreamObserver<ImportUsersResponse>) answer;
            call.disableAutoRequest();
            serving.complete(call);
            return super.importUsers(answer);
          }
        };
    CompletableFuture<Long> counted = new CompletableFuture<>();
    try (Pair pair = new Pair(service)) {
      of.apply(pair.async())
          .importUsers(
              new ClientResponseObserver<GetUserResponse, ImportUsersResponse>() {
                @Override
                public void beforeStart(ClientCallStreamObserver<GetUserResponse> to) {
                  to.setOnReadyHandler(() -> eager.sendTo(to));
                }

                @Override
                public void onNext(ImportUsersResponse response) {
                  counted.complete(response.getCount());
                }

                @Override
                public void onError(Throwable error) {
                  counted.completeExceptionally(error);
                  eager.first.completeExceptionally(error);
                }

                @Override
                public void onCompleted() {}
              });
      int count = eager.counted();
      Pair.await(serving).request(count);
      assertEquals(count, Pair.await(counted));
    }
  }

  @Test
  void aServiceIsToldOfNoMoreRequestsThanItAskedFor() throws Exception {
    BlockingQueue<Object> events = new LinkedBlockingQueue<>();
    CompletableFuture<ServerCallStreamObserver<GetUserResponse>> serving =
        new CompletableFuture<>();
    Users service =
        new Users() {
          @Override
          public StreamObserver<GetUserRequest> watchUsers(StreamObserver<GetUserResponse> to) {
            ServerCallStreamObserver<GetUserResponse> call =
                (ServerCallStreamObserver<GetUserResponse>) to;
            call.disableAutoRequest();
            serving.complete(call);
            return new StreamObserver<>() {
              @Override
              public void onNext(GetUserRequest request) {
                events.add(request.getUserId());
              }

              @Override
              public void onError(Throwable error) {}

              @Override
              public void onCompleted() {
                events.add("end");
                to.onCompleted();
              }
            };
          }
        };
    try (Pair pair = new Pair(service)) {
      Pair.Collected<GetUserResponse> answers = new Pair.Collected<>();
      StreamObserver<GetUserRequest> requests = pair.async().watchUsers(answers);
      requests.onNext(request(1));
      requests.onNext(request(2));
      requests.onCompleted();
      ServerCallStreamObserver<GetUserResponse> call = Pair.await(serving);
      call.request(1);
      assertEquals(1L, Pair.next(events));
      pair.blocking().getUser(request(1));
      assertTrue(events.isEmpty());
      call.request(1);
      assertEquals(2L, Pair.next(events));
      assertEquals("end", Pair.next(events));
      Pair.await(answers.done);
    }
  }

  @Test
  void callbacksOfACallComeOneAtATime() throws Exception {
    try (Pair pair = new Pair(new Users())) {
      AtomicInteger within = new AtomicInteger();
      AtomicInteger most = new AtomicInteger();
      CountDownLatch done = new CountDownLatch(1);
      StreamObserver<GetUserRequest> requests =
          pair.async()
              .watchUsers(
                  new StreamObserver<>() {
                    @Override
                    public void onNext(GetUserResponse user) {
                      most.accumulateAndGet(within.incrementAndGet(), Math::max);
                      Thread.yield();
                      within.decrementAndGet();
                    }

                    @Override
                    public void onError(Throwable error) {
                      done.countDown();
                    }

                    @Override
                    public void onCompleted() {
                      most.accumulateAndGet(within.incrementAndGet(), Math::max);
                      done.countDown();
                    }
                  });
      for (int id = 1; id <= 2_000; id++) {
        requests.onNext(request(id));
      }
      requests.onCompleted();
      Pair.await(done);
      assertEquals(1, most.get());
    }
  }

  @Test
  void aListenerThatThrowsEndsItsCall() throws Exception {
    try (Pair pair = new Pair(new Users())) {
      BlockingQueue<Object> closed = new LinkedBlockingQueue<>();
      ClientCall<ListUsersRequest, GetUserResponse> call =
          pair.channel.newCall(UserServiceGrpc.getListUsersMethod(), CallOptions.DEFAULT);
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onMessage(GetUserResponse message) {
              throw new IllegalStateException("on purpose");
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
              closed.add(List.of(status.getCode(), String.valueOf(status.getCause())));
            }
          },
          new Metadata());
      call.request(2);
      call.sendMessage(ListUsersRequest.newBuilder().setCount(3).build());
      call.halfClose();
      assertEquals(
          List.of(Status.Code.CANCELLED, "java.lang.IllegalStateException: on purpose"),
          Pair.next(closed));
      assertFalse(call.isReady());
    }
  }
}
