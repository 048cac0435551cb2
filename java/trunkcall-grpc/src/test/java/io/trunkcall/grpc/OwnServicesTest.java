package io.trunkcall.grpc;

import static io.trunkcall.grpc.Pair.await;
import static io.trunkcall.grpc.Pair.next;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.UninterpretedOption.NamePart;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionService;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.reflection.v1.ServiceResponse;
import io.grpc.stub.StreamObserver;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** gRPC's own services on a server of Trunkcall, for its clients and for those of gRPC. */
class OwnServicesTest {
  private final HealthStatusManager health = new HealthStatusManager();

  /** A channel to a server: Trunkcall's, or gRPC's own over HTTP/2. */
  private static final class Reaching implements AutoCloseable {
    final Server server;
    final Channel channel;
    private final Runnable end;

    Reaching(Server server, boolean http) throws Exception {
      this.server = server.start();
      if (http) {
        ManagedChannel made =
            NettyChannelBuilder.forAddress("127.0.0.1", server.port()).usePlaintext().build();
        channel = made;
        end = made::shutdownNow;
      } else {
        Client client = Client.of("127.0.0.1:" + server.port());
        channel = GrpcChannel.of(client);
        end = client::close;
      }
    }

    @Override
    public void close() {
      end.run();
      server.close();
    }
  }

  private Reaching healthy(boolean http, Duration drainDelay) throws Exception {
    Server server =
        Server.builder()
            .listen("127.0.0.1:0")
            .drainDelay(drainDelay)
            .serve(GrpcServices.handlers(health.getHealthService()))
            .build();
    return new Reaching(server, http);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoBeginsToWatchWhileTheServerStopsDoesNotKeepIt(boolean http) throws Exception {
    CompletableFuture<Void> came = new CompletableFuture<>();
    CompletableFuture<Void> goOn = new CompletableFuture<>();
    Server server =
        Server.builder()
            .listen("127.0.0.1:0")
            .serve(GrpcServices.handlers(health.getHealthService()))
            .serverInterceptor(
                (call, next) -> {
                  came.complete(null);
                  await(goOn);
                  return next.proceed(call);
                })
            .build();
    try (Reaching reaching = new Reaching(server, http)) {
      Iterator<HealthCheckResponse> watch = health(reaching).watch(of(""));
      await(came);
      CompletableFuture<Boolean> stopped =
          CompletableFuture.supplyAsync(() -> server.stop(Pair.PATIENCE.multipliedBy(2)));
      await(server.stopping().toCompletableFuture());
      goOn.complete(null);
      assertTrue(await(stopped), "the server was kept until its grace was over");
      StatusRuntimeException end =
          assertThrows(StatusRuntimeException.class, () -> watch.forEachRemaining(one -> {}));
      assertEquals(Status.Code.UNAVAILABLE, end.getStatus().getCode());
    }
  }

  private static HealthCheckRequest of(String service) {
    return HealthCheckRequest.newBuilder().setService(service).build();
  }

  private static HealthGrpc.HealthBlockingStub health(Reaching reaching) {
    return HealthGrpc.newBlockingStub(reaching.channel)
        .withDeadlineAfter(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void healthIsServed(boolean http) throws Exception {
    try (Reaching reaching = healthy(http, Duration.ZERO)) {
      assertEquals(ServingStatus.SERVING, health(reaching).check(of("")).getStatus());
      StatusRuntimeException none =
          assertThrows(StatusRuntimeException.class, () -> health(reaching).check(of("none")));
      assertEquals(Status.Code.NOT_FOUND, none.getStatus().getCode());
      Iterator<HealthCheckResponse> watch = health(reaching).watch(of(""));
      assertEquals(ServingStatus.SERVING, watch.next().getStatus());
      health.setStatus("", ServingStatus.NOT_SERVING);
      assertEquals(ServingStatus.NOT_SERVING, watch.next().getStatus());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void healthSaysNotServingDuringTheDrainDelay(boolean http) throws Exception {
    try (Reaching reaching = healthy(http, Duration.ofHours(1))) {
      Iterator<HealthCheckResponse> watch = health(reaching).watch(of(""));
      assertEquals(ServingStatus.SERVING, watch.next().getStatus());
      Thread stops = new Thread(reaching.server::stop, "stops");
      stops.start();
      assertEquals(ServingStatus.NOT_SERVING, watch.next().getStatus());
      health.setStatus("", ServingStatus.SERVING);
      assertEquals(ServingStatus.NOT_SERVING, health(reaching).check(of("")).getStatus());
      assertEquals(ServingStatus.NOT_SERVING, health(reaching).watch(of("")).next().getStatus());
      reaching.server.close();
      stops.join();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoWatchesHealthDoesNotKeepTheServer(boolean http) throws Exception {
    try (Reaching reaching = healthy(http, Duration.ZERO)) {
      Iterator<HealthCheckResponse> watch = health(reaching).watch(of(""));
      assertEquals(ServingStatus.SERVING, watch.next().getStatus());
      CompletableFuture<Boolean> stopped =
          CompletableFuture.supplyAsync(() -> reaching.server.stop(Pair.PATIENCE.multipliedBy(2)));
      assertEquals(ServingStatus.NOT_SERVING, watch.next().getStatus());
      StatusRuntimeException end = assertThrows(StatusRuntimeException.class, watch::hasNext);
      assertEquals(Status.Code.UNAVAILABLE, end.getStatus().getCode());
      assertTrue(await(stopped), "the server was kept until its grace was over");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void reflectionListsAndDescribesWhatIsRegistered(boolean http) throws Exception {
    Server server =
        Server.builder()
            .listen("127.0.0.1:0")
            .serve(
                GrpcServices.handlers(
                    ProtoReflectionServiceV1.newInstance(), ProtoReflectionService.newInstance()))
            .build();
    try (Reaching reaching = new Reaching(server, http)) {
      server.register(GrpcServices.handlers(new Users())); // later than the reflection
      BlockingQueue<ServerReflectionResponse> answers = new LinkedBlockingQueue<>();
      StreamObserver<ServerReflectionRequest> requests =
          ServerReflectionGrpc.newStub(reaching.channel)
              .serverReflectionInfo(new Queueing<>(answers));
      requests.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
      List<String> services =
          next(answers).getListServicesResponse().getServiceList().stream()
              .map(ServiceResponse::getName)
              .toList();
      assertTrue(services.contains(UserServiceGrpc.SERVICE_NAME), services.toString());
      assertTrue(services.contains(ServerReflectionGrpc.SERVICE_NAME), services.toString());
      requests.onNext(
          ServerReflectionRequest.newBuilder()
              .setFileContainingSymbol(UserServiceGrpc.SERVICE_NAME)
              .build());
      FileDescriptorProto file =
          FileDescriptorProto.parseFrom(
              next(answers).getFileDescriptorResponse().getFileDescriptorProto(0));
      assertEquals("UserService", file.getService(0).getName());
      requests.onCompleted();

      BlockingQueue<io.grpc.reflection.v1alpha.ServerReflectionResponse> before =
          new LinkedBlockingQueue<>();
      StreamObserver<io.grpc.reflection.v1alpha.ServerReflectionRequest> alpha =
          io.grpc.reflection.v1alpha.ServerReflectionGrpc.newStub(reaching.channel)
              .serverReflectionInfo(new Queueing<>(before));
      alpha.onNext(
          io.grpc.reflection.v1alpha.ServerReflectionRequest.newBuilder()
              .setListServices("")
              .build());
      assertEquals(3, next(before).getListServicesResponse().getServiceCount());
      alpha.onCompleted();
    }
  }

  /** Of a service whose methods are Trunkcall's own. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void reflectionFindsServicesByTheirMessages(boolean http) throws Exception {
    Method<GetUserRequest, GetUserResponse> get =
        Method.unary(
            "/" + UserServiceGrpc.SERVICE_NAME + "/GetUser",
            Codec.protobuf(GetUserRequest.getDefaultInstance()),
            Codec.protobuf(GetUserResponse.getDefaultInstance()));
    Codec<NamePart> parts = Codec.protobuf(NamePart.getDefaultInstance());
    Method<NamePart, NamePart> required = Method.unary("/a.Parts/Same", parts, parts);
    Server server =
        Server.builder()
            .listen("127.0.0.1:0")
            .serve(Handler.unary(required, (request, call) -> request))
            .serve(Handler.unary(get, (request, call) -> Users.user(request.getUserId())))
            .serve(GrpcServices.handlers(ProtoReflectionServiceV1.newInstance()))
            .build();
    try (Reaching reaching = new Reaching(server, http)) {
      BlockingQueue<ServerReflectionResponse> answers = new LinkedBlockingQueue<>();
      StreamObserver<ServerReflectionRequest> requests =
          ServerReflectionGrpc.newStub(reaching.channel)
              .serverReflectionInfo(new Queueing<>(answers));
      requests.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
      assertEquals(2, next(answers).getListServicesResponse().getServiceCount());
      requests.onCompleted();
    }
  }

  private record Queueing<T>(BlockingQueue<T> queue) implements StreamObserver<T> {
    @Override
    public void onNext(T message) {
      queue.add(message);
    }

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onCompleted() {}
  }
}
