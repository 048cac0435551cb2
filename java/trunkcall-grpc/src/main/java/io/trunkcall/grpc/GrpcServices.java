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
        .map(GrpcServices::handler)
        .toArray(Handler[]::new);
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
