package io.trunkcall.interop;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.trunkcall.Client;
import io.trunkcall.grpc.GrpcChannel;
import java.util.concurrent.TimeUnit;

/** A channel that ends with its client, as the cases want it. */
final class Managed extends ManagedChannel {
  private final Client client;
  private final GrpcChannel channel;
  private volatile boolean shutdown;
  private volatile boolean terminated;

  Managed(Client client) {
    this.client = client;
    this.channel = GrpcChannel.of(client);
  }

  @Override
  public <Q, R> ClientCall<Q, R> newCall(MethodDescriptor<Q, R> method, CallOptions options) {
    if (shutdown) {
      throw new IllegalStateException("the channel was shut down");
    }
    return channel.newCall(method, options);
  }

  @Override
  public String authority() {
    return channel.authority();
  }

  /** Calls that are under way go on. */
  @Override
  public ManagedChannel shutdown() {
    shutdown = true;
    return this;
  }

  @Override
  public ManagedChannel shutdownNow() {
    shutdown = true;
    client.close();
    terminated = true;
    return this;
  }

  @Override
  public boolean isShutdown() {
    return shutdown;
  }

  @Override
  public boolean isTerminated() {
    return terminated;
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) {
    return terminated;
  }
}
