package io.trunkcall.examples.stubs;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.TimeUnit;

/**
 * A client of gRPC that knows nothing of Trunkcall, whose server it calls: that serves both on one
 * port. GrpcClient HOST:PORT.
 */
public final class GrpcClient {
  private GrpcClient() {}

  public static void main(String[] args) throws InterruptedException {
    ManagedChannel channel =
        Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
    try {
      UserServiceGrpc.UserServiceBlockingStub users =
          UserServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
      System.out.println("found " + users.getUser(request(7)).getName());
      try {
        users.getUser(request(0));
      } catch (StatusRuntimeException e) {
        System.out.println("failed with " + e.getStatus().getCode());
      }
    } finally {
      channel.shutdownNow().awaitTermination(30, TimeUnit.SECONDS);
    }
  }

  private static GetUserRequest request(long id) {
    return GetUserRequest.newBuilder().setUserId(id).build();
  }
}
