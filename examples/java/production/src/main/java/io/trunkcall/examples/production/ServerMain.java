package io.trunkcall.examples.production;

import com.google.rpc.BadRequest;
import com.google.rpc.BadRequest.FieldViolation;
import com.sun.net.httpserver.HttpServer;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.exporter.httpserver.MetricsHandler;
import io.trunkcall.Admitted;
import io.trunkcall.Arrival;
import io.trunkcall.Call;
import io.trunkcall.Code;
import io.trunkcall.Details;
import io.trunkcall.Handler;
import io.trunkcall.Limits;
import io.trunkcall.Next;
import io.trunkcall.Observer;
import io.trunkcall.Sender;
import io.trunkcall.Server;
import io.trunkcall.ServerCall;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.Tls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;

/**
 * A server as one would run it: TLS, tokens, limits, metrics, a health check, streams, error
 * details, and an end that loses no call.
 *
 * <pre>TOKEN=secret server cert.pem key.pem [ADDRESS [PORT FOR HTTP]]</pre>
 *
 * <p>It listens on ADDRESS, and answers /metrics and /healthz on the other port.
 */
public final class ServerMain {
  private static final Histogram SECONDS =
      Histogram.builder()
          .name("rpc_server_seconds")
          .help("Time that calls take")
          .labelNames("method", "code")
          .register();

  private final byte[] token;

  private ServerMain(String token) {
    this.token = ("Bearer " + token).getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Who calls. It is asked before anything of the call is decoded; who is not let in knows that
   * nothing ran.
   */
  private Admitted admit(Arrival call) {
    String given = String.valueOf(call.metadata().get("authorization"));
    if (!MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), token)) {
      throw new StatusException(Code.UNAUTHENTICATED, "a valid token is needed");
    }
    return Admitted.as("front");
  }

  /** Counts calls and times them, of all kinds. */
  private static CompletionStage<?> measure(Call call, Next next) {
    long began = System.nanoTime();
    call.onEnd(
        status ->
            SECONDS
                .labelValues(call.method().name(), status.code().name())
                .observe((System.nanoTime() - began) / 1e9));
    return next.proceed(call);
  }

  private static GetUserResponse user(GetUserRequest request, ServerCall call) {
    if (request.getUserId() < 1) {
      FieldViolation wrong =
          FieldViolation.newBuilder()
              .setField("user_id")
              .setDescription("must be at least 1")
              .build();
      BadRequest detail = BadRequest.newBuilder().addFieldViolations(wrong).build();
      throw new StatusException(
          Status.of(Code.INVALID_ARGUMENT, "ids begin at 1")
              .withDetails(List.of(Details.of(detail))));
    }
    String name = "user-" + request.getUserId() + ", asked for by " + call.principal();
    return GetUserResponse.newBuilder().setName(name).build();
  }

  private static void users(
      ListUsersRequest request, Sender<GetUserResponse> responses, ServerCall call) {
    for (int id = 1; id <= request.getCount(); id++) {
      if (!responses.send(GetUserResponse.newBuilder().setName("user-" + id).build())) {
        return; // the caller is gone
      }
    }
  }

  /** Connections, in the log of the process. */
  private static final class Log implements Observer {
    private static final System.Logger LOGGER = System.getLogger("server");

    @Override
    public void disconnected(io.trunkcall.Connection connection, String why) {
      LOGGER.log(System.Logger.Level.DEBUG, "disconnected: " + why);
    }
  }

  private Server server(Path certificate, Path key, Duration drainDelay) {
    return Server.builder()
        .tls(Tls.of(certificate, key)) // read again when the files change
        .admission(this::admit)
        .serverInterceptor(ServerMain::measure)
        .limits(Limits.DEFAULTS.withMessageBytes(4 << 20))
        .runningHandlers(1_000)
        .maxConnectionAge(Duration.ofHours(1)) // so that load spreads to new servers
        .drainDelay(drainDelay) // until nobody is sent here any more
        .observer(new Log())
        .serve(Handler.unary(Users.GET, ServerMain::user))
        .serve(Handler.serverStream(Users.LIST, ServerMain::users))
        .build();
  }

  /** Metrics, and a readiness probe that fails as soon as the server is to stop. */
  private static HttpServer operations(int port, Server server) throws IOException {
    InetAddress here = InetAddress.getLoopbackAddress();
    HttpServer web = HttpServer.create(new InetSocketAddress(here, port), 0);
    web.createContext("/metrics", new MetricsHandler());
    web.createContext(
        "/healthz",
        exchange -> {
          exchange.sendResponseHeaders(server.leaving().isDone() ? 503 : 200, -1);
          exchange.close();
        });
    web.setExecutor(
        Executors.newCachedThreadPool(
            task -> {
              Thread thread = new Thread(task, "operations");
              thread.setDaemon(true);
              return thread;
            }));
    web.start();
    return web;
  }

  public static void main(String[] args) throws IOException {
    Map<String, String> environment = System.getenv();
    String token = environment.getOrDefault("TOKEN", "");
    if (args.length < 2 || args.length > 4 || token.isEmpty()) { // it would let in everybody
      System.err.println("usage: TOKEN=secret server cert.pem key.pem [ADDRESS [PORT FOR HTTP]]");
      System.exit(2);
    }
    Duration delay =
        Duration.ofSeconds(Long.parseLong(environment.getOrDefault("DRAIN_DELAY", "5")));
    Server server = new ServerMain(token).server(Path.of(args[0]), Path.of(args[1]), delay);
    String address = server.listen(args.length > 2 ? args[2] : "127.0.0.1:0");
    HttpServer web = operations(args.length > 3 ? Integer.parseInt(args[3]) : 0, server);
    System.out.println("serving " + address + " and HTTP on port " + web.getAddress().getPort());

    // SIGTERM, or Ctrl-C.
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  boolean all = server.stop(Duration.ofSeconds(30));
                  System.out.println(all ? "stopped" : "stopped, with calls cut off");
                  Runtime.getRuntime().halt(0); // an end in order: not the status of the signal
                }));
    server.serve(); // until it has been stopped
  }
}
