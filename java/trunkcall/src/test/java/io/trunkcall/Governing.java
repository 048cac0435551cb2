package io.trunkcall;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Servers in this process, and a client of them under a policy file, on a clock of the test's. */
final class Governing implements AutoCloseable {
  /** What a handler answers at its so many-th run. */
  interface Answer {
    CompletableFuture<String> answer(int run);
  }

  /** A server that counts its runs. */
  static final class Counting {
    final AtomicInteger runs = new AtomicInteger();
    volatile Answer answer;

    Counting(Answer answer) {
      this.answer = answer;
    }

    static Counting fails(Code code) {
      return new Counting(
          run -> CompletableFuture.failedFuture(new StatusException(code, "on purpose")));
    }

    static Counting succeeds() {
      return new Counting(run -> CompletableFuture.completedFuture("ok"));
    }

    /** Answers never; its calls end when their callers give them up. */
    static Counting sleeps() {
      return new Counting(run -> new CompletableFuture<>());
    }

    Handler handler() {
      return Handler.unaryAsync(
          Texts.SAY, (request, call) -> answer.answer(runs.incrementAndGet()));
    }
  }

  /** A server whose calls the test ends. */
  static final class Held {
    final ConcurrentLinkedQueue<CompletableFuture<String>> running = new ConcurrentLinkedQueue<>();
    final Counting counting =
        new Counting(
            run -> {
              CompletableFuture<String> one = new CompletableFuture<>();
              running.add(one);
              return one;
            });
  }

  final TestTime time = new TestTime();
  final Path file;
  final Client client;
  final List<Server> servers = new ArrayList<>();
  final ConcurrentLinkedQueue<CallAttempt> attempts = new ConcurrentLinkedQueue<>();

  Governing(Path folder, String text, Counting... counting) {
    this(folder, text, builder -> {}, counting);
  }

  Governing(Path folder, String text, Consumer<ClientBuilder> more, Counting... counting) {
    file = folder.resolve("policy.yaml");
    exchange(file, text);
    List<Endpoint> set = new ArrayList<>();
    for (Counting one : counting) {
      int number = set.size();
      Server server =
          started(Server.builder().listen("127.0.0.1:0").serve(one.handler(), talk()).build());
      servers.add(server);
      set.add(
          Endpoint.builder("127.0.0.1:" + server.port())
              .id("server " + number)
              .zone(number % 2 == 0 ? "here" : "there")
              .build());
    }
    ClientBuilder builder =
        Client.builder("some:where")
            .resolver("some", watch -> watch.set(set))
            .policyFile(file)
            .attemptObserver(
                new AttemptObserver() {
                  @Override
                  public void attemptBegan(CallAttempt attempt) {}

                  @Override
                  public void attemptEnded(CallAttempt attempt) {
                    attempts.add(attempt);
                  }
                });
    builder.timers = time;
    builder.sources = time.sources();
    more.accept(builder);
    client = builder.build();
    Pair.await(client.connect());
    Pair.until(
        () -> Pair.await(client.endpoints()).stream().allMatch(one -> one.state() == State.READY),
        "not all are connected");
    client.calling.file.end(); // the test looks
  }

  static Server started(Server server) {
    try {
      return server.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Handler talk() {
    return Handler.bidiStream(
        Texts.TALK,
        (requests, responses, call) -> {
          for (String one : requests) {
            responses.send(one);
          }
        });
  }

  /** Replaces a policy file, without its last line, as programs do: by another one. */
  static void exchange(Path file, String text) {
    Path next = file.resolveSibling(file.getFileName() + ".new");
    try {
      Files.writeString(next, "policy: 1\n" + text + "...\n");
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits until the client has lost its endpoints. */
  void untilGone() {
    Pair.until(
        () -> Pair.await(client.endpoints()).stream().noneMatch(one -> one.state() == State.READY),
        "a server is still there");
  }

  /** Looks at the file, until it has stayed as it is for a look. */
  void look() {
    client.calling.file.look(client.told());
    client.calling.file.look(client.told());
  }

  CompletableFuture<Response<String>> begin() {
    return begin(CallOptions.NONE);
  }

  CompletableFuture<Response<String>> begin(CallOptions options) {
    return client.unary(Texts.SAY, "x", options);
  }

  String call() {
    return Pair.await(begin()).message();
  }

  /** How a call fails that was begun. */
  static StatusException failure(CompletableFuture<?> call) {
    return Pair.failure(() -> Pair.await(call));
  }

  @Override
  public void close() {
    client.close();
    servers.forEach(Server::close);
  }
}
