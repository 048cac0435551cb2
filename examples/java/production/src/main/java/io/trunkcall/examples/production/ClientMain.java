package io.trunkcall.examples.production;

import com.google.rpc.BadRequest;
import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.ListUsersRequest;
import io.trunkcall.Balancer;
import io.trunkcall.Call;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientInterceptor;
import io.trunkcall.ClientStream;
import io.trunkcall.Details;
import io.trunkcall.Policy;
import io.trunkcall.StatusException;
import io.trunkcall.Tls;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A client as one would write it: TLS, a token, deadlines, repeats under a budget, balancing, a
 * stream, error details.
 *
 * <pre>TOKEN=secret client cert.pem TARGET</pre>
 *
 * <p>TARGET may name several servers: a:4000,b:4000 or dns:api:4000.
 */
public final class ClientMain {
  private ClientMain() {}

  private static ClientInterceptor withToken(String token) {
    return (call, next) -> next.proceed(authorized(call, token));
  }

  private static Call authorized(Call call, String token) {
    return call.withMetadata(
        call.metadata().toBuilder().add("authorization", "Bearer " + token).build());
  }

  private static Client client(String target, Path authority, String token) {
    return Client.builder(target)
        .tls(Tls.trusting(authority))
        .clientInterceptor(withToken(token))
        .timeout(Duration.ofSeconds(5)) // of unary calls that name none
        .policy(Policy.forMethod(Users.GET.name()).waitForReady(true).build())
        .balancer(Balancer.leastLoaded())
        .build();
  }

  private static void call(Client client) {
    System.out.println(client.call(Users.GET, request(7)).getName());

    CallOptions limited = CallOptions.NONE.withTimeout(Duration.ofSeconds(10));
    ListUsersRequest three = ListUsersRequest.newBuilder().setCount(3).build();
    try (ClientStream<ListUsersRequest, GetUserResponse> users =
        client.stream(Users.LIST, three, limited)) {
      int listed = 0;
      for (GetUserResponse user : users) {
        listed++;
      }
      System.out.println("listed " + listed);
    }

    try {
      client.call(Users.GET, request(0));
    } catch (StatusException e) {
      BadRequest bad = Details.find(e.status(), BadRequest.getDefaultInstance());
      String field = bad == null ? "" : " " + bad.getFieldViolations(0).getField();
      System.out.println(e.getMessage() + field);
    }
  }

  private static GetUserRequest request(long id) {
    return GetUserRequest.newBuilder().setUserId(id).build();
  }

  public static void main(String[] args) {
    String token = System.getenv().getOrDefault("TOKEN", "");
    if (args.length != 2 || token.isEmpty()) {
      System.err.println("usage: TOKEN=secret client cert.pem TARGET");
      System.exit(2);
    }
    try (Client client = client(args[1], Path.of(args[0]), token)) {
      call(client);
    } catch (StatusException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
