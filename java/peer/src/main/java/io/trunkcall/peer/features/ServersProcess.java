package io.trunkcall.peer.features;

import com.google.protobuf.StringValue;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Server;
import io.trunkcall.ServerBuilder;
import io.trunkcall.registry.Registrar;
import io.trunkcall.registry.Registry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A process that serves what the client calls. A line that it is told says which servers are to be
 * there in place of those of the line before; an empty one asks what it has used.
 */
final class ServersProcess implements AutoCloseable {
  static final String CHILD = "servers";
  static final Method<StringValue, StringValue> ECHO =
      Method.unary("/features.Service/Echo", codec(), codec());

  private final Process process;
  private final PrintStream orders;
  private final BufferedReader told;

  private static Codec<StringValue> codec() {
    return Codec.protobuf(StringValue.getDefaultInstance());
  }

  private ServersProcess(Process process) {
    this.process = process;
    this.orders = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    this.told =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  // At the client.

  /** Starts it as this process was started. */
  static ServersProcess start() throws IOException {
    List<String> words = new ArrayList<>();
    words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    words.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    words.addAll(List.of("-cp", System.getProperty("java.class.path")));
    words.addAll(List.of(Features.class.getName(), CHILD));
    return new ServersProcess(
        new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  private String tells(String order, String prefix) throws IOException {
    orders.println(order);
    String line = told.readLine();
    if (line == null || !line.startsWith(prefix)) {
      throw new IOException("the servers told " + line + ": want " + prefix);
    }
    return line.substring(prefix.length());
  }

  /** The address of a server without anything, which stays. */
  String bare() throws IOException {
    return tells("bare", "bare ");
  }

  /**
   * Has so many servers be there, and returns their addresses. {@code policy} is a file, and {@code
   * registry} a folder; empty: there is none.
   */
  String serve(int servers, String policy, String registry) throws IOException {
    return tells(servers + "\t" + policy + "\t" + registry, "serving ");
  }

  /** What it has used. */
  Usage used() throws IOException {
    String[] figures = tells("", "used ").split(" ");
    return new Usage(Long.parseLong(figures[0]), Long.parseLong(figures[1]));
  }

  @Override
  public void close() throws InterruptedException {
    orders.close();
    process.waitFor();
  }

  // At the servers.

  /** Does what it is told, until there is no more. */
  static void serve() throws Exception {
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    List<Server> there = new ArrayList<>();
    for (String order = orders.readLine(); order != null; order = orders.readLine()) {
      if (order.isEmpty()) {
        Usage used = Usage.now();
        System.out.println("used " + used.nanos() + " " + used.bytes());
      } else if (order.equals("bare")) {
        System.out.println("bare " + address(server("", "")));
      } else {
        there.forEach(Server::close);
        there.clear();
        String[] words = order.split("\t", -1);
        List<String> addresses = new ArrayList<>();
        for (int i = Integer.parseInt(words[0]); i > 0; i--) {
          Server server = server(words[1], words[2]);
          there.add(server);
          addresses.add(address(server));
        }
        System.out.println("serving " + String.join(",", addresses));
      }
    }
    System.exit(0);
  }

  private static Server server(String policy, String registry) throws IOException {
    ServerBuilder builder =
        Server.builder()
            .serve(Handler.unary(ECHO, (request, call) -> request))
            .listen("127.0.0.1:0");
    if (!policy.isEmpty()) {
      builder.policyFile(Path.of(policy));
    }
    if (registry.isEmpty()) {
      return builder.build().start();
    }
    Registrar registrar =
        Registrar.builder(Registry.openStore("file:" + registry)).names("s").build();
    Server server = builder.registrar(registrar).build().start();
    registrar.published().join();
    return server;
  }

  private static String address(Server server) {
    return server.addresses().get(0);
  }
}
