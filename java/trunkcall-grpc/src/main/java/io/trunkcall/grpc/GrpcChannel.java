package io.trunkcall.grpc;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.MethodDescriptor;
import io.trunkcall.Caller;
import io.trunkcall.Client;
import io.trunkcall.Connection;
import io.trunkcall.ServerCall;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * What stubs that grpc-java's plugin generates are made from: blocking, future and asynchronous
 * ones, with their interceptors.
 *
 * <pre>{@code
 * GreeterGrpc.newBlockingStub(GrpcChannel.of(client))
 * }</pre>
 *
 * <p>The channel does not own its caller, and there is nothing to close.
 *
 * <p>Of {@link CallOptions} these are followed: deadline, executor, wait for ready, both limits of
 * messages, credentials, stream tracers, and the compressors {@code gzip}, {@code zstd} and {@code
 * identity}, for all messages of a call or none. A call with another authority than the channel's
 * fails UNIMPLEMENTED: natively it has no place. {@link Statuses#of} has the delivery of a call
 * that failed.
 */
public final class GrpcChannel extends Channel {
  private final Caller caller;
  private final Executor executor;
  private final boolean policies;
  private final String authority;
  private final Methods methods = new Methods();

  private GrpcChannel(Builder from) {
    this.caller = from.caller;
    this.executor = from.executor == null ? Shared.EXECUTOR : from.executor;
    this.policies = from.policies;
    this.authority = authority(from.caller);
  }

  /** A channel over a client, one connection at either end, or a caller of the user's own. */
  public static GrpcChannel of(Caller caller) {
    return builder(caller).build();
  }

  /** A builder of a channel. */
  public static Builder builder(Caller caller) {
    return new Builder(caller);
  }

  @Override
  public <Q, R> ClientCall<Q, R> newCall(MethodDescriptor<Q, R> method, CallOptions options) {
    Methods.Known<Q, R> known = methods.of(method);
    return method.getType() == MethodDescriptor.MethodType.UNARY
        ? new UnaryStub<>(this, known, method, options)
        : new StreamStub<>(this, known, method, options);
  }

  /** The host and port of a client's target, the address of a connection's other end, or empty. */
  @Override
  public String authority() {
    return authority;
  }

  Caller caller() {
    return caller;
  }

  Executor executor() {
    return executor;
  }

  /** Whether policies say how long calls take that have no deadline. */
  boolean policies() {
    return policies;
  }

  /** Whether calls are made over TLS, as far as is known. */
  boolean isSecure() {
    return caller instanceof Client client
        ? client.secure()
        : caller instanceof Connection connection && connection.tls() != null;
  }

  /** The connection to a peer; null if that is not known. */
  @Nullable Connection connection(String peer) {
    if (caller instanceof Connection connection) {
      return connection;
    }
    if (!(caller instanceof Client client)) {
      return null;
    }
    List<Connection> all =
        client.connections().stream().filter(one -> one.remote().equals(peer)).toList();
    return all.size() == 1 ? all.get(0) : null;
  }

  /** Whether the deadline of a handler's call counts: gRPC's context has that of services. */
  static boolean isNative(ServerCall call) {
    return !(call.method().request() instanceof StubCodec);
  }

  private static String authority(Caller caller) {
    if (caller instanceof Connection connection) {
      return connection.remote();
    }
    if (!(caller instanceof Client client)) {
      return "";
    }
    String target = client.target();
    int behind = target.indexOf("://");
    String rest = behind < 0 ? target : target.substring(behind + 3);
    if (rest.startsWith("unix:") || rest.startsWith("mem:")) {
      return "localhost";
    }
    if (rest.startsWith("dns:")) {
      rest = rest.substring("dns:".length());
    }
    int end = rest.indexOf('/');
    String first = end < 0 ? rest : rest.substring(0, end);
    int comma = first.indexOf(',');
    return comma < 0 ? first : first.substring(0, comma);
  }

  /** Collects what a channel is to be. Used by one thread. */
  public static final class Builder {
    private final Caller caller;
    private @Nullable Executor executor;
    private boolean policies;

    private Builder(Caller caller) {
      this.caller = Objects.requireNonNull(caller, "caller");
    }

    /**
     * Where listeners of calls that name no executor are called; by default threads that are made
     * as needed. Blocking stubs use the thread that waits.
     */
    public Builder executor(Executor executor) {
      this.executor = Objects.requireNonNull(executor, "executor");
      return this;
    }

    /**
     * Has the policies among the options of the client, and its default timeout, say how long calls
     * take that have no deadline. Without it they take as long as they take, as on gRPC. What a
     * policy file says always holds.
     */
    public Builder policies() {
      this.policies = true;
      return this;
    }

    /** The channel. */
    public GrpcChannel build() {
      return new GrpcChannel(this);
    }
  }

  /** The threads of listeners, unless a channel is given others. */
  private static final class Shared {
    static final ExecutorService EXECUTOR = threads();

    private static ExecutorService threads() {
      AtomicInteger count = new AtomicInteger();
      return Executors.newCachedThreadPool(
          task -> {
            Thread made = new Thread(task, "trunkcall-grpc-" + count.incrementAndGet());
            made.setDaemon(true);
            return made;
          });
    }
  }
}
