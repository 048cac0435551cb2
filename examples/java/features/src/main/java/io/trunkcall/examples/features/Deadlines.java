package io.trunkcall.examples.features;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

/** Deadlines that travel, and cancellation. */
public final class Deadlines {
  private static final Method<GetUserRequest, GetUserResponse> FRONT =
      Method.unary("/example.Front/GetUser", Users.GET.request(), Users.GET.response());

  private Deadlines() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    BlockingQueue<String> behindSays = new LinkedBlockingQueue<>();
    Handler slow =
        Handler.unary(
            Users.GET,
            (request, call) -> {
              behindSays.add("started");
              try {
                Thread.sleep(600_000); // interrupted at the caller's deadline, or when it gives up
              } catch (InterruptedException e) {
                behindSays.add("interrupted");
                throw e;
              }
              return Users.user("late");
            });
    try (Server back = Server.builder().serve(slow).build();
        Client behind = Client.of(back.listen("127.0.0.1:0"));
        Server between = Server.builder().serve(passingOnTo(behind)).build();
        Client client = Client.of(between.listen("127.0.0.1:0"))) {
      CompletableFuture<GetUserResponse> asked = client.callAsync(FRONT, Users.request(7));
      System.out.println("two services on: " + behindSays.take());
      asked.cancel(true);
      System.out.println("two services on: " + behindSays.take());

      try {
        client.call(FRONT, Users.request(7), CallOptions.NONE.withTimeout(Duration.ofSeconds(2)));
      } catch (StatusException e) {
        System.out.println(e.code());
      }
      System.out.println("two services on: " + behindSays.take() + ", " + behindSays.take());
    }
  }

  private static Handler passingOnTo(Client behind) {
    return Handler.unary(
        FRONT, (request, call) -> behind.call(Users.GET, request)); // has what is left of the time
  }
}
