package io.trunkcall.grpc;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.trunkcall.Server;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * gRPC's health service while its server leaves ({@link Server#leaving}): it says NOT_SERVING from
 * the beginning, also while the server still serves for the drain delay. Who watches is told so,
 * and the call ends when the server takes no more: otherwise {@link Server#stop} would wait for it
 * until the grace is over.
 *
 * <p>Answers are changed by their descriptors, so that it does not matter who has generated them.
 */
final class ToldHealth<Q, R> implements ServerCallHandler<Q, R> {
  static final String SERVICE = "grpc.health.v1.Health";

  private static final String SERVING = "SERVING";
  private static final String NOT_SERVING = "NOT_SERVING";
  private static final Map<Server, Watches> WATCHES =
      Collections.synchronizedMap(new WeakHashMap<>());

  private final ServerCallHandler<Q, R> service;

  ToldHealth(ServerCallHandler<Q, R> service) {
    this.service = service;
  }

  @Override
  public ServerCall.Listener<Q> startCall(ServerCall<Q, R> call, Metadata headers) {
    io.trunkcall.ServerCall current = io.trunkcall.ServerCall.current();
    Server server = current == null ? null : current.server();
    if (current == null || server == null) {
      return service.startCall(call, headers);
    }
    Told<Q, R> told = new Told<>(call, server);
    if (call.getMethodDescriptor().getType().serverSendsOneMessage()) {
      return service.startCall(told, headers);
    }
    Watches watches = WATCHES.computeIfAbsent(server, Watches::new);
    told.whenClosed = () -> watches.open.remove(told);
    watches.open.add(told);
    current.onCancel(() -> watches.open.remove(told));
    ServerCall.Listener<Q> watching = service.startCall(told, headers);
    if (server.stopping().isDone()) { // perhaps before it was among those who are told
      told.stop();
    }
    return watching;
  }

  /** Those who watch a server: it is asked once, whoever comes and goes. */
  private static final class Watches {
    final Set<Told<?, ?>> open = ConcurrentHashMap.newKeySet();

    Watches(Server server) {
      server.leaving().thenRun(() -> each(Told::tellAgain));
      server.stopping().thenRun(() -> each(Told::stop));
    }

    private void each(Consumer<Told<?, ?>> what) {
      open.forEach(what);
    }
  }

  /** A call of the service. */
  private static final class Told<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final Server server;
    volatile Runnable whenClosed = () -> {};

    // Guarded by this.
    private @Nullable R last; // what was sent to one who watches
    private boolean closed;

    Told(ServerCall<Q, R> call, Server server) {
      super(call);
      this.server = server;
    }

    @Override
    public synchronized void sendMessage(R message) {
      if (!closed) {
        send(message);
      }
    }

    private void send(R message) {
      R now = server.leaving().isDone() ? leaving(message) : message;
      if (!now.equals(last)) { // which one that leaves may have said before
        last = now;
        super.sendMessage(now);
      }
    }

    /** Sends what was sent last, as it is while the server leaves. */
    synchronized void tellAgain() {
      R before = last;
      if (before != null && !closed) {
        send(before);
      }
    }

    void stop() {
      close(Status.UNAVAILABLE.withDescription("the server is stopping"), new Metadata());
    }

    @Override
    public void close(Status status, Metadata trailers) {
      synchronized (this) {
        if (closed) {
          return;
        }
        closed = true;
        super.close(status, trailers);
      }
      whenClosed.run();
    }
  }

  @SuppressWarnings("unchecked")
  private static <R> R leaving(R answer) {
    return answer instanceof Message message ? (R) notServing(message) : answer;
  }

  /** An answer as it is while the server leaves, with all that are in it. */
  private static Message notServing(Message answer) {
    Message.Builder told = answer.toBuilder();
    for (Map.Entry<FieldDescriptor, Object> one : answer.getAllFields().entrySet()) {
      FieldDescriptor field = one.getKey();
      Object value = one.getValue();
      if (value instanceof EnumValueDescriptor status && status.getName().equals(SERVING)) {
        told.setField(field, field.getEnumType().findValueByName(NOT_SERVING));
      } else if (value instanceof Message inner) {
        told.setField(field, notServing(inner));
      } else if (value instanceof List<?> many) {
        for (int at = 0; at < many.size(); at++) {
          if (many.get(at) instanceof Message inner) {
            told.setRepeatedField(field, at, notServing(inner));
          }
        }
      }
    }
    return told.build();
  }
}
