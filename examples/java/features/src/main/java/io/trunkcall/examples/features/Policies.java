package io.trunkcall.examples.features;

import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/** A client whose policy file, the program's argument, has it retry. */
public final class Policies {
  private Policies() {}

  public static void main(String[] args) throws IOException {
    if (args.length != 1) {
      throw new IllegalArgumentException("want a policy file, such as ../go/policies/policy.yaml");
    }
    AtomicInteger runs = new AtomicInteger();
    Handler get =
        Handler.unary(
            Users.GET,
            (request, call) -> {
              if (runs.incrementAndGet() < 3) {
                throw new StatusException(Code.UNAVAILABLE, "not yet");
              }
              return Users.user("Ada");
            });
    try (Server server = Server.builder().serve(get).build();
        Client client =
            Client.builder(server.listen("127.0.0.1:0"))
                .policyFile(Path.of(args[0])) // IllegalArgumentException tells the lines at fault
                .build()) {
      String name = client.call(Users.GET, Users.request(7)).getName();
      System.out.println(name + " after " + runs.get() + " attempts");
    }
  }
}
