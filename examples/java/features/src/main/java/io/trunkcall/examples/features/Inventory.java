package io.trunkcall.examples.features;

import com.sun.net.httpserver.HttpServer;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import io.trunkcall.registry.Entry;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Source;
import io.trunkcall.registry.Watcher;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Servers that stand in a list that somebody else keeps: an inventory that is asked over HTTP, and
 * answers with lines of name and address.
 */
public final class Inventory implements Source {
  /** Calls wait for a server that can be reached. */
  private static final CallOptions WAITING =
      CallOptions.NONE.withWaitForReady(true).withTimeout(Duration.ofSeconds(30));

  private final HttpClient http = HttpClient.newHttpClient();
  private final String url;

  Inventory(String url) {
    this.url = url;
  }

  /** Called again when it throws, later each time. Until then the instances stay that are known. */
  @Override
  public void watch(String service, Watcher watcher) throws IOException, InterruptedException {
    HttpRequest question =
        HttpRequest.newBuilder(URI.create(url + "/" + service))
            .timeout(Duration.ofSeconds(10))
            .build();
    while (true) {
      HttpResponse<String> answer = http.send(question, BodyHandlers.ofString());
      if (answer.statusCode() != 200) {
        throw new IOException("the inventory answers " + answer.statusCode());
      }
      watcher.all(answer.body().lines().map(line -> entry(service, line)).toList());
      watcher.awaitFailure(Duration.ofSeconds(1)); // or at once: perhaps one has moved
    }
  }

  private static Entry entry(String service, String line) {
    String[] words = line.split(" ", 2);
    try {
      ServiceRecord record =
          ServiceRecord.builder(service, words[0], words[words.length - 1]).build();
      return Entry.of(words[0], record.toBytes());
    } catch (IllegalArgumentException fault) { // it is left out, and logged
      return Entry.faulty(words[0], "", fault.getMessage());
    }
  }

  public static void main(String[] args) throws IOException {
    AtomicReference<String> listed = new AtomicReference<>("");
    HttpServer answers =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    answers.createContext(
        "/services/",
        exchange -> {
          byte[] body = listed.get().getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, body.length);
          try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
          }
        });
    answers.start();
    Inventory inventory =
        new Inventory("http://127.0.0.1:" + answers.getAddress().getPort() + "/services");
    try (Server one = server("one");
        Server two = server("two");
        Client client =
            Client.builder("inventory:users")
                .resolver("inventory", Registry.resolver(inventory))
                .build()) {
      listed.set("a " + one.listen("127.0.0.1:0") + "\nbroken nowhere\n");
      System.out.println(client.call(Users.GET, Users.request(7), WAITING).getName());

      listed.set("b " + two.listen("127.0.0.1:0") + "\n");
      one.stop();
      System.out.println(client.call(Users.GET, Users.request(7), WAITING).getName());
    } finally {
      answers.stop(0);
    }
  }

  private static Server server(String name) {
    return Server.builder()
        .serve(Handler.unary(Users.GET, (request, call) -> Users.user(name)))
        .build();
  }
}
