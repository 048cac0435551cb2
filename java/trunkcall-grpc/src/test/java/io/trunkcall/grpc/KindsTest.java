package io.trunkcall.grpc;

import static io.trunkcall.grpc.Users.request;
import static io.trunkcall.grpc.Users.user;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.StreamObserver;
import io.trunkcall.grpc.Pair.Collected;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Stubs of all forms call methods of all kinds. */
@Timeout(90)
class KindsTest {
  private Pair pair;

  @BeforeEach
  void open() throws Exception {
    pair = new Pair(new Users());
  }

  @AfterEach
  void close() {
    pair.close();
  }

  @Test
  void aBlockingStubCallsAUnaryMethod() {
    assertEquals(user(7), pair.blocking().getUser(request(7)));
  }

  @Test
  void aFutureStubCallsAUnaryMethod() {
    assertEquals(
        user(7), Pair.await(UserServiceGrpc.newFutureStub(pair.channel).getUser(request(7))));
  }

  @Test
  void anAsynchronousStubCallsAUnaryMethod() {
    Collected<GetUserResponse> answers = new Collected<>();
    pair.async().getUser(request(7), answers);
    Pair.await(answers.done);
    assertEquals(List.of(user(7)), answers.messages);
  }

  @Test
  void aBlockingStubIteratesResponses() {
    List<GetUserResponse> found = new ArrayList<>();
    pair.blocking().listUsers(list(1_000)).forEachRemaining(found::add);
    assertEquals(LongStream.rangeClosed(1, 1_000).mapToObj(Users::user).toList(), found);
  }

  @Test
  void anAsynchronousStubIsToldOfResponsesInOrder() {
    Collected<GetUserResponse> answers = new Collected<>();
    pair.async().listUsers(list(1_000), answers);
    Pair.await(answers.done);
    assertEquals(LongStream.rangeClosed(1, 1_000).mapToObj(Users::user).toList(), answers.messages);
  }

  @Test
  void manyRequestsHaveOneResponse() {
    Collected<ImportUsersResponse> answers = new Collected<>();
    StreamObserver<GetUserResponse> requests = pair.async().importUsers(answers);
    for (int id = 1; id <= 1_000; id++) {
      requests.onNext(user(id));
    }
    requests.onCompleted();
    Pair.await(answers.done);
    assertEquals(1_000, answers.messages.get(0).getCount());
  }

  @Test
  void requestsAndResponsesTakeTurns() {
    Collected<GetUserResponse> answers = new Collected<>();
    StreamObserver<GetUserRequest> requests = pair.async().watchUsers(answers);
    for (int id = 1; id <= 1_000; id++) {
      requests.onNext(request(id));
    }
    requests.onCompleted();
    Pair.await(answers.done);
    assertEquals(1_000, answers.messages.size());
    assertEquals(user(1_000), answers.messages.get(999));
  }

  @Test
  void aBlockingStubWritesAndReadsInTurns() throws Exception {
    BlockingClientCall<GetUserRequest, GetUserResponse> call =
        UserServiceGrpc.newBlockingV2Stub(pair.channel).watchUsers();
    for (int id = 1; id <= 100; id++) {
      assertTrue(call.write(request(id)));
      assertEquals(user(id), call.read());
    }
    call.halfClose();
    assertNull(call.read());
  }

  @Test
  void responsesBeforeAFailureArrive() {
    Collected<GetUserResponse> answers = new Collected<>();
    StreamObserver<GetUserRequest> requests = pair.async().watchUsers(answers);
    requests.onNext(request(1));
    requests.onNext(request(0));
    StatusRuntimeException failure =
        assertThrows(StatusRuntimeException.class, () -> Pair.await(answers.done));
    assertEquals(Status.Code.INVALID_ARGUMENT, failure.getStatus().getCode());
    assertEquals(List.of(user(1)), answers.messages);
  }

  private static ListUsersRequest list(int count) {
    return ListUsersRequest.newBuilder().setCount(count).build();
  }
}
