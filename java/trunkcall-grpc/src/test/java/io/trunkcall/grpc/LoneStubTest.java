package io.trunkcall.grpc;

import static io.trunkcall.grpc.Users.request;
import static io.trunkcall.grpc.Users.user;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.trunkcall.Client;
import io.trunkcall.Server;
import io.trunkcall.internal.transport.Patience;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One caller of a blocking stub sends and receives by himself. */
@Timeout(120)
class LoneStubTest {
  private final CountDownLatch go = new CountDownLatch(1);
  private final CountDownLatch begun = new CountDownLatch(1);
  private Server server;
  private Client client;
  private GrpcChannel channel;
  private volatile Thread reads; // the last answer
  private volatile Thread applies; // the last credentials

  private final MethodDescriptor<GetUserRequest, GetUserResponse> method =
      UserServiceGrpc.getGetUserMethod().toBuilder()
          .setResponseMarshaller(
              new MethodDescriptor.Marshaller<GetUserResponse>() {
                @Override
                public InputStream stream(GetUserResponse value) {
                  return UserServiceGrpc.getGetUserMethod().streamResponse(value);
                }

                @Override
                public GetUserResponse parse(InputStream stream) {
                  reads = Thread.currentThread();
                  return UserServiceGrpc.getGetUserMethod().parseResponse(stream);
                }
              })
          .build();

  /** However slow the machine is, calls count as quick. */
  @BeforeAll
  static void bePatient() {
    Patience.set(true);
  }

  @AfterAll
  static void beAsBefore() {
    Patience.set(false);
  }

  @BeforeEach
  void begin() throws Exception {
    ServerSocketChannel socket = ServerSocketChannel.open();
    socket.bind(new InetSocketAddress("127.0.0.1", 0));
    Users users =
        new Users() {
          @Override
          public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
            if (request.getUserId() == 99) {
              begun.countDown();
              Pair.await(go);
            }
            super.getUser(request, answer);
          }
        };
    server = Server.builder().serve(GrpcServices.handlers(users)).build();
    server.listen(socket);
    client = Client.of("127.0.0.1:" + server.port());
    channel = GrpcChannel.of(client);
  }

  @AfterEach
  void end() {
    go.countDown();
    client.close();
    server.close();
  }

  private GetUserResponse call(long id, CallOptions options) {
    return ClientCalls.blockingUnaryCall(channel, method, options, request(id));
  }

  /** Makes calls until their caller reads the answers. */
  private void untilLed() {
    long end = System.nanoTime() + Pair.PATIENCE.toNanos();
    for (int led = 0; led < 100; led = reads == Thread.currentThread() ? led + 1 : 0) {
      assertTrue(System.nanoTime() < end, "no answers were read by their caller");
      assertEquals(user(7), call(7, CallOptions.DEFAULT));
    }
  }

  @Test
  void itsThreadReadsTheAnswer() {
    untilLed();
  }

  @Test
  void itsFailureIsToldAsEver() {
    untilLed();
    StatusRuntimeException failure = failure(() -> call(-1, CallOptions.DEFAULT));
    assertEquals(Status.Code.INVALID_ARGUMENT, failure.getStatus().getCode());
    untilLed();
  }

  @Test
  void itEndsWithItsContext() throws Exception {
    untilLed();
    Context.CancellableContext around = Context.current().withCancellation();
    Thread cancels =
        new Thread(
            () -> {
              Pair.await(begun);
              around.cancel(null);
            });
    cancels.start();
    around.run(
        () ->
            assertEquals(
                Status.Code.CANCELLED,
                failure(() -> call(99, CallOptions.DEFAULT)).getStatus().getCode()));
    cancels.join();
  }

  @Test
  void aThreadThatDoesNotWaitForItDoesNotTurnTheLoop() {
    untilLed();
    CallCredentials elsewhere =
        new CallCredentials() {
          @Override
          public void applyRequestMetadata(
              RequestInfo info, Executor executor, MetadataApplier to) {
            applies = new Thread(() -> to.apply(new Metadata()));
            applies.start();
          }
        };
    assertEquals(user(7), call(7, CallOptions.DEFAULT.withCallCredentials(elsewhere)));
    assertNotSame(applies, reads);
  }

  private static StatusRuntimeException failure(Runnable call) {
    return assertThrows(StatusRuntimeException.class, call::run);
  }
}
