package io.trunkcall.grpc;

import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import java.util.Arrays;

/**
 * Serves services that grpc-java's plugin generates the bases of.
 *
 * <pre>{@code
 * Server.builder().serve(GrpcServices.handlers(new GreeterImpl())).listen("0.0.0.0:9000")
 * }</pre>
 *
 * <p>Interceptors of gRPC are given to the service with {@code ServerInterceptors.intercept};
 * Trunkcall's, and its admission, see the calls as well. Within a service gRPC's {@code Context} is
 * cancelled with the call and has its deadline, and {@code ServerCall.current()} is Trunkcall's. An
 * exception that a service throws is no status: callers see an id, and the log has the text beside
 * it.
 *
 * <p>gRPC's own services of health and reflection (of {@code grpc-services}) work as others do.
 * Health says NOT_SERVING while the server leaves; reflection lists the services that are
 * registered when it is asked, and that a {@code .proto} file describes.
 */
public final class GrpcServices {
  private GrpcServices() {}

  /** What serves the methods of some services. */
  public static Handler[] handlers(BindableService... services) {
    return handlers(
        Arrays.stream(services)
            .map(BindableService::bindService)
            .toArray(ServerServiceDefinition[]::new));
  }

  /** What serves the methods of services that are bound already, perhaps behind interceptors. */
  public static Handler[] handlers(ServerServiceDefinition... services) {
    return Arrays.stream(services)
        .flatMap(service -> service.getMethods().stream())
        .map(served -> handler(asHere(served)))
        .toArray(Handler[]::new);
  }

  /** gRPC's own services ask the server for what only its own would tell. */
  private static <Q, R> ServerMethodDefinition<Q, R> asHere(ServerMethodDefinition<Q, R> served) {
    String service = String.valueOf(served.getMethodDescriptor().getServiceName());
    if (service.equals(ToldHealth.SERVICE)) {
      return served.withServerCallHandler(new ToldHealth<>(served.getServerCallHandler()));
    }
    if (service.startsWith(Reflected.SERVICES)) {
      return served.withServerCallHandler(Reflected.told(served.getServerCallHandler()));
    }
    return served;
  }

  private static <Q, R> Handler handler(ServerMethodDefinition<Q, R> served) {
    MethodDescriptor<Q, R> descriptor = served.getMethodDescriptor();
    Method<Q, R> method = Methods.made(descriptor).method();
    if (!method.kind().streams()) {
      return Handler.unaryAsync(
          method, (request, call) -> ServedStub.serve(served, request, null, null, call));
    }
    boolean takesOne = method.kind().takesOne();
    boolean answersOne = method.kind().answersOne();
    return Handler.streamAsync(
        method,
        (request, requests, responses, call) ->
            ServedStub.serve(
                served, request, takesOne ? null : requests, answersOne ? null : responses, call));
  }
}
