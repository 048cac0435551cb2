package io.trunkcall.lab.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.BadRequest;
import com.google.rpc.Status;
import com.trunkcall.bench.v1.BenchServiceGrpc;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.EmitRequest;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import io.trunkcall.lab.smoke.Smoke;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GrpcPeerTest {
  @Test
  void answersTunedAndWithItsDefaults() throws Exception {
    for (String[] flags : new String[][] {{}, {"--default"}}) {
      try (Smoke smoke = Smoke.serve(GrpcPeer::new, flags)) {
        for (String method : new String[] {"Say", "Echo"}) {
          smoke.answers(method, flags);
          smoke.answers(method, with(flags, "--connections", "4"));
          smoke.answers(method, with(flags, "--connections", "2", "--async"));
          smoke.answers(method, with(flags, "--connection-per-call"));
        }
        for (String method : new String[] {"EchoStream", "Emit"}) {
          smoke.answers(method, flags);
          smoke.answers(method, with(flags, "--connections", "4", "--size", "1048576"));
        }
      }
    }
  }

  private static String[] with(String[] flags, String... more) {
    List<String> all = new ArrayList<>(List.of(flags));
    all.addAll(List.of(more));
    return all.toArray(String[]::new);
  }

  @Test
  void handlersMayWait() throws Exception {
    try (Smoke smoke = Smoke.serve(GrpcPeer::new, "--handler", "wait")) {
      smoke.answers("Say");
    }
  }

  @Test
  void answersOverTls(@TempDir Path directory) throws Exception {
    Certificate files = Certificate.in(directory);
    String certificate = files.certificate().toString();
    String[] serving = {"--tls-cert", certificate, "--tls-key", files.key().toString()};
    try (Smoke smoke = Smoke.serve(GrpcPeer::new, serving)) {
      smoke.answers("Say", "--tls-ca", certificate, "--connections", "2");
      smoke.answers("Echo", "--tls-ca", certificate, "--connection-per-call");
    }
  }

  @Test
  void servesUsersAsTheSpecificationSays() throws Exception {
    try (Smoke smoke = Smoke.serve(GrpcPeer::new)) {
      ManagedChannel channel = NettyChannelBuilder.forTarget(smoke.target()).usePlaintext().build();
      try {
        var users = UserServiceGrpc.newBlockingStub(channel);
        GetUserResponse user = users.getUser(GetUserRequest.newBuilder().setUserId(7).build());
        assertEquals("user-7", user.getName());
        assertEquals("user-7@example.com", user.getEmail());
        StatusRuntimeException invalid =
            assertThrows(
                StatusRuntimeException.class,
                () -> users.getUser(GetUserRequest.getDefaultInstance()));
        Status status = StatusProto.fromThrowable(invalid);
        assertEquals("user_id must be at least 1", status.getMessage());
        assertEquals(
            "user_id",
            status.getDetails(0).unpack(BadRequest.class).getFieldViolations(0).getField());
        List<String> names = new ArrayList<>();
        users
            .listUsers(ListUsersRequest.newBuilder().setCount(3).build())
            .forEachRemaining(each -> names.add(each.getName()));
        assertEquals(List.of("user-1", "user-2", "user-3"), names);
        var bench = BenchServiceGrpc.newBlockingStub(channel);
        EmitRequest tooMuch = EmitRequest.newBuilder().setSize((16 << 20) + 1).build();
        StatusRuntimeException large =
            assertThrows(StatusRuntimeException.class, () -> bench.emit(tooMuch).hasNext());
        assertEquals(io.grpc.Status.Code.INVALID_ARGUMENT, large.getStatus().getCode());
      } finally {
        channel.shutdownNow();
      }
    }
  }

  @Test
  void answersThatAreNoneAreFailures() throws Exception {
    Server liar =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .addService(
                new BenchServiceGrpc.BenchServiceImplBase() {
                  @Override
                  public void say(
                      BenchmarkMessage request, StreamObserver<BenchmarkMessage> answer) {
                    answer.onNext(request);
                    answer.onCompleted();
                  }
                })
            .build()
            .start();
    try {
      for (String kind : new String[] {"--connections=1", "--async"}) {
        Smoke.Said said =
            Smoke.run(
                GrpcPeer::new,
                "bench",
                "--target=127.0.0.1:" + liar.getPort(),
                "--calls=3",
                "--warmup=0",
                kind);
        assertEquals(1, said.status());
        Map<String, Double> figures = Smoke.figures(said.out());
        assertEquals(3, figures.get("errors"));
        assertTrue(said.err().contains("the answer has field1"), said.err());
      }
      Smoke.refused(
          GrpcPeer::new,
          1,
          "in the warm-up: WrongAnswer: the answer has field1",
          "bench",
          "--target=127.0.0.1:" + liar.getPort());
    } finally {
      liar.shutdownNow();
    }
  }

  @Test
  void mistakesAreOneLineAndAStatus() {
    Smoke.mistakes(GrpcPeer::new, "grpc-java");
    String[] listen = {"serve", "--listen", "127.0.0.1:0"};
    Smoke.refused(GrpcPeer::new, 2, "--tls-cert and --tls-key", with(listen, "--tls-cert", "x"));
    Smoke.refused(
        GrpcPeer::new,
        2,
        "--tls-cert nowhere.pem: cannot be read",
        with(listen, "--tls-cert", "nowhere.pem", "--tls-key", "x"));
    Smoke.refused(
        GrpcPeer::new,
        2,
        "--connection-per-call is for blocking calls",
        "bench",
        "--target",
        "127.0.0.1:1",
        "--method",
        "Emit",
        "--connection-per-call");
    if (Runtime.version().feature() < 21) {
      Smoke.refused(GrpcPeer::new, 2, "--virtual wants Java 21", with(listen, "--virtual"));
    }
  }
}
