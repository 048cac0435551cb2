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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages come as they are asked for, and senders know when to send. */
@Timeout(90)
class FlowTest {
  private static final String LONG = "x".repeat(32 << 10);

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
    int count = 1_000;
    CompletableFuture<Integer> before = new CompletableFuture<>(); // sent before it had to wait
    Users service =
        new Users() {
          @Override
          public void listUsers(ListUsersRequest request, StreamObserver<GetUserResponse> to) {
            ServerCallStreamObserver<GetUserResponse> answers =
                (ServerCallStreamObserver<GetUserResponse>) to;
            AtomicInteger sent = new AtomicInteger();
            answers.setOnReadyHandler(
                () -> {
                  while (answers.isReady() && sent.get() < count) {
                    answers.onNext(GetUserResponse.newBuilder().setName(LONG).build());
                    if (sent.incrementAndGet() == count) {
                      answers.onCompleted();
                    }
                  }
                  before.complete(sent.get());
                });
          }
        };
    try (Pair pair = new Pair(service)) {
      Told<GetUserResponse> told = new Told<>();
      ClientCall<ListUsersRequest, GetUserResponse> call =
          pair.channel.newCall(UserServiceGrpc.getListUsersMethod(), CallOptions.DEFAULT);
      call.start(told, new Metadata());
      call.sendMessage(ListUsersRequest.getDefaultInstance());
      call.halfClose();
      int first = Pair.await(before);
      assertTrue(first < count, "sent " + first + " although nobody took them");
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
    int count = 1_000;
    AtomicInteger sent = new AtomicInteger();
    CompletableFuture<Integer> before = new CompletableFuture<>();
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
      pair.async()
          .importUsers(
              new ClientResponseObserver<GetUserResponse, ImportUsersResponse>() {
                @Override
                public void beforeStart(ClientCallStreamObserver<GetUserResponse> to) {
                  to.setOnReadyHandler(
                      () -> {
                        while (to.isReady() && sent.get() < count) {
                          to.onNext(GetUserResponse.newBuilder().setName(LONG).build());
                          if (sent.incrementAndGet() == count) {
                            to.onCompleted();
                          }
                        }
                        if (sent.get() > 1) { // the first may be sent before there is a connection
                          before.complete(sent.get());
                        }
                      });
                }

                @Override
                public void onNext(ImportUsersResponse response) {
                  counted.complete(response.getCount());
                }

                @Override
                public void onError(Throwable error) {
                  counted.completeExceptionally(error);
                  before.completeExceptionally(error);
                }

                @Override
                public void onCompleted() {}
              });
      int first = Pair.await(before);
      assertTrue(first < count, "sent " + first + " although nobody took them");
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
