package io.trunkcall.examples.discovery;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Resolver;
import io.trunkcall.Server;
import io.trunkcall.registry.Registrar;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Store;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Servers are published in a registry, where a client finds them: they come and go. */
public final class Discovery {
  private static final String SERVICE = "trunkcall.example.v1.UserService";

  private static final Method<GetUserRequest, GetUserResponse> GET_USER =
      Method.unary(
          "/" + SERVICE + "/GetUser",
          Codec.protobuf(GetUserRequest.getDefaultInstance()),
          Codec.protobuf(GetUserResponse.getDefaultInstance()));

  /** Calls wait for a server that can be reached. */
  private static final CallOptions WAITING =
      CallOptions.NONE.withWaitForReady(true).withTimeout(Duration.ofSeconds(30));

  private Discovery() {}

  /** Publishes a server that answers with its name. */
  private static Server serve(Store store, String name) throws IOException {
    GetUserResponse answer = GetUserResponse.newBuilder().setName(name).build();
    Registrar registrar = Registrar.builder(store).zone("here").version("1.4.2").build();
    Server server =
        Server.builder()
            .registrar(registrar)
            .serve(Handler.unary(GET_USER, (request, call) -> answer))
            .build();
    server.listen("127.0.0.1:0");
    return server;
  }

  /** Has two servers in turn, of which a client knows nothing but the name of their service. */
  private static void run(String name) throws IOException {
    Store store = Registry.openStore(name);
    Resolver resolver = Registry.resolver(store);
    try (Client client =
        Client.builder("registry:" + SERVICE).resolver("registry", resolver).build()) {
      Server before = null;
      for (String next : List.of("first", "second")) {
        Server server = serve(store, next);
        String who = "";
        while (!who.equals(next)) {
          GetUserRequest request = GetUserRequest.newBuilder().setUserId(7).build();
          who = client.call(GET_USER, request, WAITING).getName();
        }
        System.out.println("answered by " + next);
        if (before != null) {
          before.stop(); // it is withdrawn, then drained
        }
        before = server;
      }
      before.stop();
    }
  }

  public static void main(String[] args) throws IOException {
    if (args.length != 1) {
      System.err.println("usage: Discovery REGISTRY, such as file:/run/trunkcall");
      System.exit(1);
    }
    run(args[0]);
  }
}
