package io.trunkcall.examples.features;

import io.trunkcall.Admitted;
import io.trunkcall.Arrival;
import io.trunkcall.Client;
import io.trunkcall.ClientInterceptor;
import io.trunkcall.Code;
import io.trunkcall.Handler;
import io.trunkcall.Metadata;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** A client that sends a token with each call, and a server that admits calls with one it knows. */
public final class Tokens {
  /** The tokens that the server knows, and whose they are. */
  private static final Map<String, String> KNOWN = Map.of("Bearer s3cret", "Ada");

  private Tokens() {}

  static ClientInterceptor withToken(String token) {
    return (call, next) -> {
      Metadata.Builder metadata = call.metadata().toBuilder();
      metadata.add("authorization", "Bearer " + token);
      return next.proceed(call.withMetadata(metadata.build()));
    };
  }

  /** Decides about a call before anything of it is decoded. */
  static Admitted admit(Arrival call) {
    String user = KNOWN.get(String.valueOf(call.metadata().get("authorization")));
    if (user == null) {
      throw new StatusException(Code.UNAUTHENTICATED, call.method().name() + " wants a token");
    }
    return Admitted.as(user);
  }

  public static void main(String[] args) throws IOException {
    Handler greet =
        Handler.unary(Users.GET, (request, call) -> Users.user("hello, " + call.principal()));
    try (Server server = Server.builder().admission(Tokens::admit).serve(greet).build()) {
      String address = server.listen("127.0.0.1:0");
      for (String token : List.of("s3cret", "guessed")) {
        try (Client client = Client.builder(address).clientInterceptor(withToken(token)).build()) {
          System.out.println(client.call(Users.GET, Users.request(7)).getName());
        } catch (StatusException e) {
          System.out.println(e.getMessage());
        }
      }
    }
  }
}
