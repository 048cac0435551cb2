package io.trunkcall.grpc;

import io.grpc.Attributes;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** Takes what the credentials of a call say, once. */
final class Authorizing extends CallCredentials.MetadataApplier {
  private final Consumer<Metadata> applied;
  private final Consumer<Status> failed;
  private final AtomicBoolean done = new AtomicBoolean();

  Authorizing(Consumer<Metadata> applied, Consumer<Status> failed) {
    this.applied = applied;
    this.failed = failed;
  }

  @Override
  public void apply(Metadata headers) {
    if (!done.getAndSet(true)) {
      applied.accept(headers);
    }
  }

  @Override
  public void fail(Status status) {
    if (!done.getAndSet(true)) {
      failed.accept(status);
    }
  }

  /** What credentials are told of a call. */
  static final class Info extends CallCredentials.RequestInfo {
    private final MethodDescriptor<?, ?> method;
    private final CallOptions options;
    private final GrpcChannel channel;

    Info(MethodDescriptor<?, ?> method, CallOptions options, GrpcChannel channel) {
      this.method = method;
      this.options = options;
      this.channel = channel;
    }

    @Override
    public MethodDescriptor<?, ?> getMethodDescriptor() {
      return method;
    }

    @Override
    public CallOptions getCallOptions() {
      return options;
    }

    @Override
    public SecurityLevel getSecurityLevel() {
      return channel.isSecure() ? SecurityLevel.PRIVACY_AND_INTEGRITY : SecurityLevel.NONE;
    }

    @Override
    public String getAuthority() {
      return channel.authority();
    }

    @Override
    public Attributes getTransportAttrs() {
      return Attributes.EMPTY;
    }
  }
}
