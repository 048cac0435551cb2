package hello;

import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import io.trunkcall.ServerCall;
import io.trunkcall.StatusException;
import java.io.IOException;

public final class Hello {
  static final Method<Name, Greeting> GREET =
      Method.unary(
          "/hello.Greeter/Greet",
          Codec.protobuf(Name.getDefaultInstance()),
          Codec.protobuf(Greeting.getDefaultInstance()));

  static Greeting hello(Name request, ServerCall call) {
    if (request.getName().isEmpty()) {
      throw new StatusException(Code.INVALID_ARGUMENT, "who?");
    }
    return Greeting.newBuilder().setText("hello " + request.getName()).build();
  }

  public static void main(String[] args) throws IOException {
    try (Server server = Server.builder().serve(Handler.unary(GREET, Hello::hello)).build();
        Client client = Client.of(server.listen("127.0.0.1:0"))) {
      for (String name : new String[] {"Ada", ""}) {
        try {
          Name request = Name.newBuilder().setName(name).build();
          System.out.println(client.call(GREET, request).getText());
        } catch (StatusException e) {
          System.out.println(e.getMessage());
        }
      }
    }
  }
}
