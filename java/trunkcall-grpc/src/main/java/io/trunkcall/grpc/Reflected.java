package io.trunkcall.grpc;

import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Message;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.InternalServer;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.protobuf.ProtoFileDescriptorSupplier;
import io.trunkcall.Codec;
import io.trunkcall.Method;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A server as gRPC's reflection service asks for it: the services that it serves at the moment and
 * that a {@code .proto} file describes. Of those that are not gRPC's, it is found by their
 * messages.
 */
final class Reflected extends Server {
  static final String SERVICES = "grpc.reflection.";

  private static final Map<io.trunkcall.Server, Reflected> KNOWN =
      Collections.synchronizedMap(new WeakHashMap<>());

  private final WeakReference<io.trunkcall.Server> server;

  private Reflected(io.trunkcall.Server server) {
    this.server = new WeakReference<>(server);
  }

  /** Has the service find the server that it runs on. */
  static <Q, R> ServerCallHandler<Q, R> told(ServerCallHandler<Q, R> service) {
    return (call, headers) -> {
      io.trunkcall.ServerCall current = io.trunkcall.ServerCall.current();
      io.trunkcall.Server there = current == null ? null : current.server();
      if (there == null) {
        return service.startCall(call, headers);
      }
      Context context =
          Context.current().withValue(InternalServer.SERVER_CONTEXT_KEY, Reflected.of(there));
      return Contexts.interceptCall(context, call, headers, service);
    };
  }

  /** The one of a server, always the same: the service keeps what it has found by it. */
  static Reflected of(io.trunkcall.Server server) {
    return KNOWN.computeIfAbsent(server, Reflected::new);
  }

  @Override
  public List<ServerServiceDefinition> getServices() {
    return getMutableServices();
  }

  /** Services may be registered as long as a server runs. */
  @Override
  public List<ServerServiceDefinition> getMutableServices() {
    io.trunkcall.Server there = server.get();
    if (there == null) {
      return List.of();
    }
    Map<String, Object> schemas = new LinkedHashMap<>();
    for (Method<?, ?> method : there.methods()) {
      schemas.computeIfAbsent(method.service(), name -> schema(method));
    }
    List<ServerServiceDefinition> found = new ArrayList<>();
    schemas.forEach((name, schema) -> found.add(service(name, schema)));
    return found;
  }

  /** A service as reflection looks at it: by its schema alone. */
  private static ServerServiceDefinition service(String name, Object schema) {
    return ServerServiceDefinition.builder(
            ServiceDescriptor.newBuilder(name).setSchemaDescriptor(schema).build())
        .build();
  }

  /** What describes the service of a method; null: nothing does that is known here. */
  private static @Nullable Object schema(Method<?, ?> method) {
    if (method.request() instanceof StubCodec<?> codec) {
      return codec.descriptor().getSchemaDescriptor();
    }
    FileDescriptor file = file(method, method.request());
    if (file == null) {
      file = file(method, method.response());
    }
    return file == null ? null : new Described(file);
  }

  /** The file of a codec's messages, if it has the service of their method too. */
  private static @Nullable FileDescriptor file(Method<?, ?> method, Codec<?> codec) {
    if (codec.number() != StubCodec.PROTOBUF || !(empty(codec) instanceof Message empty)) {
      return null;
    }
    FileDescriptor file = empty.getDescriptorForType().getFile();
    boolean has =
        file.getServices().stream().anyMatch(one -> one.getFullName().equals(method.service()));
    return has ? file : null;
  }

  /** A message without anything in it; null: there is none, where fields are required. */
  private static @Nullable Object empty(Codec<?> codec) {
    try {
      return codec.decode(new byte[0], 0, 0);
    } catch (RuntimeException e) {
      return null;
    }
  }

  private record Described(FileDescriptor file) implements ProtoFileDescriptorSupplier {
    @Override
    public FileDescriptor getFileDescriptor() {
      return file;
    }
  }

  // It is no server of gRPC.

  @Override
  public Server start() throws IOException {
    throw new UnsupportedOperationException("it is a description");
  }

  @Override
  public Server shutdown() {
    throw new UnsupportedOperationException("it is a description");
  }

  @Override
  public Server shutdownNow() {
    throw new UnsupportedOperationException("it is a description");
  }

  @Override
  public boolean isShutdown() {
    return false;
  }

  @Override
  public boolean isTerminated() {
    return false;
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) {
    return false;
  }

  @Override
  public void awaitTermination() {
    throw new UnsupportedOperationException("it is a description");
  }
}
