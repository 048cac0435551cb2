package io.trunkcall.examples.features;

import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.Ending;
import io.trunkcall.Exchange;
import io.trunkcall.IncomingCall;
import io.trunkcall.IncomingCalls;
import io.trunkcall.PortConnection;
import io.trunkcall.PortProtocol;
import io.trunkcall.Server;
import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

/**
 * A protocol of one's own on the port of a server, beside all others. A call is a line, {@code
 * /service/method [ARGUMENTS]}, and each message of the answer is one; behind a failure stands a
 * line with its code. Try it: {@code echo '/greeter/greet ["Ada"]' | nc -N 127.0.0.1 PORT}.
 */
public final class OwnProtocol implements PortProtocol {
  private IncomingCalls calls;

  @Override
  public String name() {
    return "lines";
  }

  @Override
  public void start(IncomingCalls given) {
    calls = given;
  }

  /** Takes what begins with a slash, as none of the server's other protocols does. */
  @Override
  public Recognition recognize(byte[] first) {
    return first[0] == '/' ? Recognition.YES : Recognition.NO;
  }

  /** Answers one line after the other until its client has gone, or the server stops. */
  @Override
  public void serve(PortConnection connection)
      throws IOException, InterruptedException, ExecutionException {
    connection.ending().thenRun(connection::endInput);
    InputStreamReader text = new InputStreamReader(connection.input(), StandardCharsets.UTF_8);
    BufferedReader lines = new BufferedReader(text);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] parts = line.split(" ", 2);
      String argument = parts.length > 1 ? parts[1] : "[]";
      IncomingCall call =
          IncomingCall.of(parts[0], Codec.JSON)
              .withTimeout(Duration.ofSeconds(30))
              .withConnection(connection);
      Ending ending = calls.serve(call, new Line(argument, connection.output())).get();
      if (!ending.status().ok()) {
        print(connection.output(), ending.status().code() + ": " + ending.status().message());
      }
    }
  }

  private static void print(OutputStream to, String line) throws IOException {
    to.write((line + "\n").getBytes(StandardCharsets.UTF_8));
  }

  /** The messages of one call: a request, and as many answers as come. */
  private static final class Line implements Exchange {
    private final OutputStream answers;
    private String request;

    Line(String request, OutputStream answers) {
      this.request = request;
      this.answers = answers;
    }

    @Override
    public CompletionStage<byte[]> receive() {
      byte[] next = request == null ? null : request.getBytes(StandardCharsets.UTF_8);
      request = null; // then comes the end
      return CompletableFuture.completedFuture(next);
    }

    @Override
    public CompletionStage<?> send(byte[] message) throws IOException {
      print(answers, new String(message, StandardCharsets.UTF_8));
      return CompletableFuture.completedFuture(null);
    }
  }

  /** What is served, by all protocols. */
  @RemoteService("greeter")
  public static final class Greetings {
    @RemoteMethod
    public String greet(String name) {
      return "hello, " + name;
    }
  }

  /** What calls it by Trunkcall's own protocol. */
  @RemoteClient(service = "greeter")
  public interface Greeter {
    String greet(String name);
  }

  static Server server() {
    return Server.builder()
        .protocol(new OwnProtocol())
        .serve(CodeFirst.handlers(new Greetings()).toArray(io.trunkcall.Handler[]::new))
        .listen("127.0.0.1:0")
        .build();
  }

  public static void main(String[] args) throws IOException {
    try (Server server = server().start();
        java.net.Socket socket = new java.net.Socket("127.0.0.1", server.port());
        Client client = Client.of("127.0.0.1:" + server.port())) {
      socket.setSoTimeout(30_000);
      print(socket.getOutputStream(), "/greeter/greet [\"Ada\"]\n/greeter/none []");
      InputStreamReader text =
          new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8);
      BufferedReader answers = new BufferedReader(text);
      System.out.println(answers.readLine());
      System.out.println(answers.readLine());
      System.out.println(CodeFirst.client(Greeter.class, client).greet("Grace")); // the same port
      server.stop(Duration.ofSeconds(30));
      System.out.println(answers.readLine());
    }
  }
}
