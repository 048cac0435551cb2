package io.trunkcall.examples.features;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Handler;
import io.trunkcall.Metadata;
import io.trunkcall.Response;
import io.trunkcall.Server;
import io.trunkcall.ServerCall;
import java.io.IOException;
import java.time.Duration;

/**
 * What travels beside messages: the caller's with one call, the server's ahead of its answer (the
 * headers) and behind it (the trailers), and options for one call.
 */
public final class MetadataOfCalls {
  private MetadataOfCalls() {}

  static GetUserResponse answer(GetUserRequest request, ServerCall call) {
    String tenant = call.metadata().get("tenant");
    call.setHeaders(Metadata.of("served-by", "server-1"));
    call.setTrailers(Metadata.of("rows-read", "3"));
    return Users.user("user-" + request.getUserId() + " of " + tenant);
  }

  public static void main(String[] args) throws IOException {
    try (Server server =
            Server.builder().serve(Handler.unary(Users.GET, MetadataOfCalls::answer)).build();
        Client client = Client.of(server.listen("127.0.0.1:0"))) {
      CallOptions options =
          CallOptions.NONE
              .withMetadata(Metadata.of("tenant", "north"))
              .withTimeout(Duration.ofSeconds(30))
              .withWaitForReady(true);
      System.out.println(client.call(Users.GET, Users.request(7), options).getName());

      // unary has what came beside the message, too.
      Response<GetUserResponse> response =
          client.unary(Users.GET, Users.request(8), options).join();
      System.out.println(
          response.headers().get("served-by") + ", " + response.trailers().get("rows-read"));
    }
  }
}
