package io.trunkcall.examples.annotations;

import io.trunkcall.StatusException;
import io.trunkcall.codefirst.RemoteClients;
import io.trunkcall.codefirst.ServiceCentre;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/**
 * A service without a .proto file: a class whose annotated methods are served, and an interface by
 * which they are called, synchronously, with a future and with a callback.
 */
public final class Annotations {
  private static final String HERE = Annotations.class.getPackageName();

  public static void main(String[] args) throws IOException {
    ServiceCentre centre = ServiceCentre.builder().listen("127.0.0.1:0").scan(HERE).build();
    centre.start();
    System.out.println("published " + centre.services());

    String address = centre.addresses().get(0); // the port that was free, in place of 4000
    try (RemoteClients clients =
        RemoteClients.builder().scan(HERE).target("hello", address).build()) {
      call(clients.get(Greeter.class));
    }
    centre.stop(); // waits for calls that still run
  }

  private static void call(Greeter greeter) {
    System.out.println(greeter.say("hello", 1, 2, 0.5));
    System.out.println(greeter.div(7, 2));
    try {
      greeter.div(7, 0);
    } catch (StatusException e) {
      System.out.println(e.getMessage());
    }

    // Asynchronously, with futures: both calls are under way at once.
    CompletableFuture<Said> first = greeter.startSay("first", 1, 2, 0.5);
    CompletableFuture<Said> second = greeter.startSay("second", 2, 2, 0.5);
    System.out.println(first.join() + " " + second.join());

    // Asynchronously, with a callback, on another thread.
    CompletableFuture<Said> called = new CompletableFuture<>();
    greeter.sayThen("called back", 3, 2, 0.5, (said, failure) -> called.complete(said));
    System.out.println(called.join());

    // A time that runs out: its handler is interrupted.
    try {
      greeter.dawdle();
    } catch (StatusException e) {
      System.out.println(e.code());
    }
  }
}
