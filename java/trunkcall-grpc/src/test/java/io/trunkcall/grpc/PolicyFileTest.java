package io.trunkcall.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.UserServiceGrpc;
import com.trunkcall.example.v1.UserServiceGrpc.UserServiceBlockingStub;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.trunkcall.Client;
import io.trunkcall.Priority;
import io.trunkcall.ServerCall;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a policy file says holds for calls by stubs. */
@Timeout(120)
final class PolicyFileTest {
  private static final GetUserRequest REQUEST = GetUserRequest.getDefaultInstance();

  @TempDir private Path folder;

  private Client client(Pair pair, String said) throws Exception {
    Path file = Files.createTempFile(folder, "policy", ".yaml");
    Files.writeString(file, "policy: 1\ndefaults:\n  " + said + "\n...\n");
    return Client.builder("127.0.0.1:" + pair.server.port()).policyFile(file).build();
  }

  private static UserServiceBlockingStub stub(Client client) {
    return UserServiceGrpc.newBlockingStub(GrpcChannel.of(client));
  }

  /** Answers once this has been done. */
  private static final class Doing extends UserServiceGrpc.UserServiceImplBase {
    private final Consumer<ServerCall> work;

    Doing(Consumer<ServerCall> work) {
      this.work = work;
    }

    @Override
    public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
      work.accept(Objects.requireNonNull(ServerCall.current()));
      answer.onNext(GetUserResponse.getDefaultInstance());
      answer.onCompleted();
    }
  }

  @Test
  void itsTimeoutsHold() throws Exception {
    UserServiceGrpc.UserServiceImplBase silent =
        new UserServiceGrpc.UserServiceImplBase() {
          @Override
          public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
            // never answers
          }
        };
    try (Pair pair = new Pair(silent);
        Client client = client(pair, "timeout: 50ms")) {
      StatusRuntimeException late =
          assertThrows(StatusRuntimeException.class, () -> stub(client).getUser(REQUEST));
      assertEquals(Status.Code.DEADLINE_EXCEEDED, late.getStatus().getCode());
      UserServiceBlockingStub timed = stub(client).withDeadlineAfter(20, TimeUnit.MILLISECONDS);
      assertThrows(StatusRuntimeException.class, () -> timed.getUser(REQUEST));
    }
  }

  /**
   * A call of a handler has its priority, also where gRPC's context has taken the deadline away.
   */
  @Test
  void prioritiesSurviveTheHop() throws Exception {
    BlockingQueue<Priority> priorities = new LinkedBlockingQueue<>();
    BlockingQueue<Boolean> timed = new LinkedBlockingQueue<>();
    Doing last =
        new Doing(
            call -> {
              priorities.add(call.priority());
              timed.add(call.timeRemaining() != null);
            });
    try (Pair back = new Pair(last);
        Client inner = client(back, "wait_for_ready: true");
        Pair front =
            new Pair(
                new Doing(
                    call -> {
                      Object unused = stub(inner).getUser(REQUEST);
                      Context.ROOT.run(
                          () -> {
                            Object none = stub(inner).getUser(REQUEST);
                          });
                    }));
        Client outer = client(front, "priority: low")) {
      Object unused =
          stub(outer)
              .withDeadlineAfter(Duration.ofMinutes(1).toMillis(), TimeUnit.MILLISECONDS)
              .getUser(REQUEST);
    }
    assertEquals(Priority.LOW, Pair.next(priorities));
    assertEquals(Priority.LOW, Pair.next(priorities));
    assertEquals(true, Pair.next(timed));
    assertEquals(false, Pair.next(timed));
  }
}
