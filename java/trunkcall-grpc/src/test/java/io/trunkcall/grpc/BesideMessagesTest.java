package io.trunkcall.grpc;

import static io.trunkcall.grpc.Users.request;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.BadRequest;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import com.trunkcall.example.v1.UserServiceGrpc.UserServiceBlockingStub;
import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.trunkcall.CallOptions;
import io.trunkcall.Delivery;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What travels beside the messages of stubs: metadata, statuses, addresses, credentials. */
@Timeout(90)
class BesideMessagesTest {
  private static final Metadata.Key<String> TEXT =
      Metadata.Key.of("x-text", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<byte[]> BYTES =
      Metadata.Key.of("x-bytes-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final AtomicReference<ServerCall<?, ?>> seen = new AtomicReference<>();
  private final AtomicReference<Metadata> arrived = new AtomicReference<>();
  private final AtomicReference<Metadata> headers = new AtomicReference<>();
  private final AtomicReference<Metadata> trailers = new AtomicReference<>();
  private Pair pair;

  /** Sends what came back, ahead of the answer and behind it. */
  private final class Echo implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata came, ServerCallHandler<Q, R> next) {
      seen.set(call);
      arrived.set(came);
      return next.startCall(
          new io.grpc.ForwardingServerCall.SimpleForwardingServerCall<>(call) {
            @Override
            public void sendHeaders(Metadata sent) {
              sent.merge(came);
              super.sendHeaders(sent);
            }

            @Override
            public void close(Status status, Metadata sent) {
              sent.merge(came);
              super.close(status, sent);
            }
          },
          came);
    }
  }

  private static final class Throwing extends Users {
    @Override
    public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
      if (request.getUserId() > 1_000) {
        throw new IllegalStateException("a secret");
      }
      super.getUser(request, answer);
    }
  }

  @BeforeEach
  void open() throws Exception {
    pair = new Pair(ServerInterceptors.intercept(new Throwing(), new Echo()));
  }

  @AfterEach
  void close() {
    pair.close();
  }

  private UserServiceBlockingStub capturing(Metadata sent) {
    return pair.blocking()
        .withInterceptors(
            MetadataUtils.newAttachHeadersInterceptor(sent),
            MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));
  }

  private static Metadata some() {
    Metadata sent = new Metadata();
    sent.put(TEXT, "one");
    sent.put(TEXT, "two");
    sent.put(BYTES, new byte[] {0, 1, (byte) 255});
    return sent;
  }

  private static void assertSome(Metadata found) {
    assertEquals(List.of("one", "two"), List.copyOf(toList(found.getAll(TEXT))));
    assertArrayEquals(new byte[] {0, 1, (byte) 255}, found.get(BYTES));
  }

  private static <T> List<T> toList(Iterable<T> found) {
    assertNotNull(found);
    List<T> all = new java.util.ArrayList<>();
    found.forEach(all::add);
    return all;
  }

  @Test
  void aNativeKeyThatIsNoneOfGrpcIsLeftOut() {
    io.trunkcall.Metadata beside =
        io.trunkcall.Metadata.builder().add("-bin", new byte[] {1}).add("x-text", "one").build();
    GetUserResponse answer =
        pair.client.call(
            Methods.made(UserServiceGrpc.getGetUserMethod()).method(),
            request(7),
            CallOptions.NONE.withMetadata(beside).withTimeout(Pair.PATIENCE));
    assertEquals("user-7", answer.getName());
    assertEquals("one", arrived.get().get(TEXT));
  }

  @Test
  void metadataTravelsBothWaysOfAUnaryCall() {
    capturing(some()).getUser(request(7));
    assertSome(arrived.get());
    assertSome(headers.get());
    assertSome(trailers.get());
  }

  @Test
  void metadataTravelsBothWaysOfAStream() {
    capturing(some())
        .listUsers(ListUsersRequest.newBuilder().setCount(2).build())
        .forEachRemaining(user -> assertSome(headers.get()));
    assertSome(arrived.get());
    assertSome(trailers.get());
  }

  @Test
  void metadataComesWithAFailure() {
    assertThrows(StatusRuntimeException.class, () -> capturing(some()).getUser(request(0)));
    assertSome(trailers.get());
  }

  @Test
  void whatGrpcSaysOfItsOwnInHttpIsNotSent() {
    Metadata sent = new Metadata();
    sent.put(Metadata.Key.of("grpc-encoding", Metadata.ASCII_STRING_MARSHALLER), "gzip");
    sent.put(Metadata.Key.of("grpc-timeout", Metadata.ASCII_STRING_MARSHALLER), "1n");
    capturing(sent).getUser(request(7));
    assertTrue(arrived.get().keys().isEmpty(), () -> arrived.get().keys().toString());
  }

  @Test
  void detailsOfAStatusArriveWhereGrpcHasThem() throws Exception {
    StatusRuntimeException failure =
        assertThrows(StatusRuntimeException.class, () -> pair.blocking().getUser(request(0)));
    assertEquals(Status.Code.INVALID_ARGUMENT, failure.getStatus().getCode());
    assertEquals("ids begin at 1", failure.getStatus().getDescription());
    com.google.rpc.Status told = StatusProto.fromThrowable(failure);
    BadRequest detail = told.getDetails(0).unpack(BadRequest.class);
    assertEquals("user_id", detail.getFieldViolations(0).getField());
    assertEquals(1, Statuses.of(failure).details().size());
  }

  @Test
  void aFailureTellsItsDelivery() {
    StatusRuntimeException ran =
        assertThrows(StatusRuntimeException.class, () -> pair.blocking().getUser(request(0)));
    assertEquals(Delivery.EXECUTED, Statuses.of(ran).delivery());
    pair.client.close();
    StatusRuntimeException not =
        assertThrows(StatusRuntimeException.class, () -> pair.blocking().getUser(request(1)));
    assertEquals(Delivery.NOT_SENT, Statuses.of(not).delivery());
    assertNull(Statuses.of(new IllegalStateException()));
  }

  @Test
  void whatAServiceThrowsIsHidden() {
    StatusRuntimeException failure =
        assertThrows(StatusRuntimeException.class, () -> pair.blocking().getUser(request(2_000)));
    assertEquals(Status.Code.UNKNOWN, failure.getStatus().getCode());
    assertFalse(String.valueOf(failure.getStatus().getDescription()).contains("secret"));
  }

  @Test
  void aServiceKnowsTheAddressesOfItsConnection() {
    pair.blocking().getUser(request(7));
    InetSocketAddress remote =
        (InetSocketAddress) seen.get().getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    InetSocketAddress local =
        (InetSocketAddress) seen.get().getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR);
    assertEquals("127.0.0.1", remote.getAddress().getHostAddress());
    assertEquals(pair.server.port(), local.getPort());
    assertNull(seen.get().getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
  }

  /** Credentials that say one thing, later. */
  private static CallCredentials credentials(Status failure) {
    return new CallCredentials() {
      @Override
      public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier to) {
        executor.execute(
            () -> {
              if (failure != null) {
                to.fail(failure);
                return;
              }
              Metadata added = new Metadata();
              added.put(TEXT, info.getMethodDescriptor().getBareMethodName());
              to.apply(added);
            });
      }
    };
  }

  @Test
  void credentialsAddMetadataToACall() {
    pair.blocking().withCallCredentials(credentials(null)).getUser(request(7));
    assertEquals("GetUser", arrived.get().get(TEXT));
  }

  @Test
  void credentialsAddMetadataToAStreamThatIsSentMeanwhile() {
    Pair.Collected<GetUserResponse> answers = new Pair.Collected<>();
    StreamObserver<GetUserRequest> requests =
        pair.async().withCallCredentials(credentials(null)).watchUsers(answers);
    requests.onNext(request(1));
    requests.onNext(request(2));
    requests.onCompleted();
    Pair.await(answers.done);
    assertEquals(List.of(Users.user(1), Users.user(2)), answers.messages);
    assertEquals("WatchUsers", arrived.get().get(TEXT));
  }

  @Test
  void aCallWhoseCredentialsFailIsNotMade() {
    UserServiceBlockingStub stub =
        pair.blocking().withCallCredentials(credentials(Status.UNAUTHENTICATED));
    StatusRuntimeException failure =
        assertThrows(StatusRuntimeException.class, () -> stub.getUser(request(7)));
    assertEquals(Status.Code.UNAUTHENTICATED, failure.getStatus().getCode());
    assertNull(arrived.get());
  }

  @Test
  void anUnknownCompressorAndAnotherAuthorityAreRefused() {
    assertEquals(Status.Code.INTERNAL, code(pair.blocking().withCompression("none of ours")));
    assertEquals(
        Status.Code.UNIMPLEMENTED,
        code(
            com.trunkcall.example.v1.UserServiceGrpc.newBlockingStub(
                new io.grpc.Channel() {
                  @Override
                  public <Q, R> io.grpc.ClientCall<Q, R> newCall(
                      io.grpc.MethodDescriptor<Q, R> method, io.grpc.CallOptions options) {
                    return pair.channel.newCall(method, options.withAuthority("elsewhere"));
                  }

                  @Override
                  public String authority() {
                    return pair.channel.authority();
                  }
                })));
    assertEquals("127.0.0.1:" + pair.server.port(), pair.channel.authority());
  }

  private static Status.Code code(UserServiceBlockingStub stub) {
    return assertThrows(StatusRuntimeException.class, () -> stub.getUser(request(7)))
        .getStatus()
        .getCode();
  }
}
