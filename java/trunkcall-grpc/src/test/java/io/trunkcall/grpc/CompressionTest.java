package io.trunkcall.grpc;

import static io.trunkcall.grpc.Users.request;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ImportUsersResponse;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.trunkcall.Client;
import io.trunkcall.Compression;
import io.trunkcall.Output;
import io.trunkcall.Server;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Compressors that stubs and services name. */
@Timeout(90)
class CompressionTest {
  private static final String LONG = "x".repeat(32 << 10);

  /** gzip that counts what it is given back. */
  private static final class Counting implements Compression {
    final AtomicInteger opened = new AtomicInteger();

    @Override
    public String name() {
      return "gzip";
    }

    @Override
    public int number() {
      return 1;
    }

    @Override
    public void compress(byte[] array, int offset, int length, Output out) {
      Compression.gzip().compress(array, offset, length, out);
    }

    @Override
    public byte[] decompress(byte[] array, int offset, int length, long limit) {
      opened.incrementAndGet();
      return Compression.gzip().decompress(array, offset, length, limit);
    }
  }

  /** Answers as it is asked to: compressed if the id is odd. */
  private static final class LongAnswers extends Users {
    @Override
    public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
      boolean odd = request.getUserId() % 2 == 1;
      ((ServerCallStreamObserver<GetUserResponse>) answer)
          .setCompression(odd ? "gzip" : "identity");
      answer.onNext(GetUserResponse.newBuilder().setName(LONG).build());
      answer.onCompleted();
    }
  }

  @Test
  void bothSidesCompressWhatTheyAreToldTo() throws Exception {
    Counting requests = new Counting();
    Counting answers = new Counting();
    try (Server server =
            Server.builder()
                .listen("127.0.0.1:0")
                .decompression(requests)
                .serve(GrpcServices.handlers(new LongAnswers()))
                .build()
                .start();
        Client client =
            Client.builder("127.0.0.1:" + server.port()).decompression(answers).build()) {
      UserServiceGrpc.UserServiceBlockingStub stub =
          UserServiceGrpc.newBlockingStub(GrpcChannel.of(client));
      assertEquals(LONG, stub.getUser(request(2)).getName());
      assertEquals(0, answers.opened.get());
      assertEquals(LONG, stub.getUser(request(1)).getName());
      assertEquals(1, answers.opened.get());

      assertEquals(2, imported(client, "identity"));
      assertEquals(0, requests.opened.get());
      assertEquals(2, imported(client, "gzip"));
      assertTrue(requests.opened.get() > 0);
    }
  }

  private static long imported(Client client, String compressor) {
    CompletableFuture<Long> count = new CompletableFuture<>();
    StreamObserver<GetUserResponse> users =
        UserServiceGrpc.newStub(GrpcChannel.of(client))
            .withCompression(compressor)
            .importUsers(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ImportUsersResponse response) {
                    count.complete(response.getCount());
                  }

                  @Override
                  public void onError(Throwable error) {
                    count.completeExceptionally(error);
                  }

                  @Override
                  public void onCompleted() {}
                });
    users.onNext(GetUserResponse.newBuilder().setName(LONG).build());
    users.onNext(GetUserResponse.newBuilder().setName(LONG).build());
    users.onCompleted();
    return Pair.await(count);
  }
}
