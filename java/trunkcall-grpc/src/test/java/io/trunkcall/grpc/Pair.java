package io.trunkcall.grpc;

import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import io.trunkcall.Client;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Assertions;

/** A server with services on loopback, a client of it, and a channel for stubs. */
final class Pair implements AutoCloseable {
  /** How long a test waits for what has to come: far longer than it takes on a busy machine. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  final Server server;
  final Client client;
  final GrpcChannel channel;

  Pair(BindableService... services) throws IOException {
    this(GrpcServices.handlers(services));
  }

  Pair(ServerServiceDefinition... services) throws IOException {
    this(GrpcServices.handlers(services));
  }

  private Pair(Handler[] handlers) throws IOException {
    server = Server.builder().listen("127.0.0.1:0").serve(handlers).build().start();
    client = Client.of("127.0.0.1:" + server.port());
    channel = GrpcChannel.of(client);
  }

  UserServiceGrpc.UserServiceBlockingStub blocking() {
    return UserServiceGrpc.newBlockingStub(channel);
  }

  UserServiceGrpc.UserServiceStub async() {
    return UserServiceGrpc.newStub(channel);
  }

  @Override
  public void close() {
    client.close();
    server.close();
  }

  static <T> T await(Future<T> future) {
    try {
      return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new AssertionError(e.getCause());
    } catch (InterruptedException | TimeoutException e) {
      throw new AssertionError("it did not come", e);
    }
  }

  static void await(CountDownLatch latch) {
    try {
      Assertions.assertTrue(latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS), "it did not come");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  static <T> T next(BlockingQueue<T> queue) {
    try {
      T found = queue.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      Assertions.assertNotNull(found, "it did not come");
      return found;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Collects what an observer is told. */
  static final class Collected<T> implements io.grpc.stub.StreamObserver<T> {
    final java.util.List<T> messages = new java.util.concurrent.CopyOnWriteArrayList<>();
    final CompletableFuture<Boolean> done = new CompletableFuture<>();

    @Override
    public void onNext(T message) {
      messages.add(message);
    }

    @Override
    public void onError(Throwable error) {
      done.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {
      done.complete(true);
    }
  }
}
