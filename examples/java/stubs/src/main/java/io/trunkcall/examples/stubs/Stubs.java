package io.trunkcall.examples.stubs;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.ListUsersRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.StatusRuntimeException;
import io.trunkcall.Client;
import io.trunkcall.Server;
import io.trunkcall.grpc.GrpcChannel;
import io.trunkcall.grpc.GrpcServices;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Code that protoc-gen-grpc-java generated, client and server, on Trunkcall. Against the same
 * program on gRPC two expressions differ: what serves the service and what the stub is made from.
 */
public final class Stubs {
  public static void main(String[] args) throws IOException {
    Server server = Server.builder().serve(GrpcServices.handlers(new Users())).build();
    String address = server.listen("127.0.0.1:0");

    try (Client client = Client.of(address)) {
      call(UserServiceGrpc.newBlockingStub(GrpcChannel.of(client)));
    }
    server.stop(Duration.ofSeconds(5));
  }

  /** Knows nothing of Trunkcall. */
  private static void call(UserServiceGrpc.UserServiceBlockingStub stub) {
    UserServiceGrpc.UserServiceBlockingStub limited = stub.withDeadlineAfter(30, TimeUnit.SECONDS);
    System.out.println("found " + limited.getUser(request(7)).getName());

    limited
        .listUsers(ListUsersRequest.newBuilder().setCount(3).build())
        .forEachRemaining(user -> System.out.println("listed " + user.getName()));

    try {
      limited.getUser(request(0));
    } catch (StatusRuntimeException e) {
      System.out.println("failed with " + e.getStatus().getCode());
    }
  }

  private static GetUserRequest request(long id) {
    return GetUserRequest.newBuilder().setUserId(id).build();
  }
}
