package io.trunkcall;

import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Calls in all ways, on virtual threads only, where handlers run on such as well. */
final class VirtualThreadsProgram {
  /** In the stack of the one wait that is pinned on purpose. */
  static final String PINNED = "pinnedOnPurpose";

  private static final int THREADS = 50;
  private static final int SLOTS = 4;

  /** A service by annotation. */
  @RemoteService("slow")
  interface Slow {
    /** Sleeps for a while. */
    @RemoteMethod
    long sleep(long millis) throws InterruptedException;
  }

  private static final AtomicInteger ON_VIRTUAL = new AtomicInteger();

  private VirtualThreadsProgram() {}

  /** Fails by throwing. */
  public static void main(String[] arguments) throws Exception {
    ExecutorService threads = HandlerThreads.virtual();
    threads.submit(VirtualThreadsProgram::pinnedOnPurpose).get();
    for (boolean several : new boolean[] {false, true}) {
      threads.submit(() -> everything(threads, several)).get();
    }
    if (ON_VIRTUAL.get() < THREADS) {
      throw new AssertionError(ON_VIRTUAL.get() + " handlers ran on virtual threads");
    }
  }

  private static Void pinnedOnPurpose() throws InterruptedException {
    synchronized (ON_VIRTUAL) {
      Thread.sleep(10);
    }
    return null;
  }

  private static void sleep() throws InterruptedException {
    if (Thread.currentThread().toString().startsWith("VirtualThread")) {
      ON_VIRTUAL.incrementAndGet();
    }
    Thread.sleep(1);
  }

  private static Handler[] handlers() {
    return new Handler[] {
      Handler.unary(
          Texts.SAY,
          (request, call) -> {
            sleep();
            call.setHeaders(Metadata.EMPTY);
            call.setTrailers(Metadata.EMPTY);
            // Back to the caller, whose handler sleeps as well.
            return request.equals("back") ? call.connection().call(Texts.OTHER, "x") : request;
          }),
      Handler.oneWay(Texts.NOTE, (request, call) -> sleep()),
      Handler.serverStream(
          Texts.COUNT,
          (request, responses, call) -> {
            sleep();
            call.sendHeaders(Metadata.EMPTY);
            // More than the windows hold, so that it waits.
            for (int i = 0; i < 40 && responses.send(request.repeat(20_000)); i++) {
              // Until the call is over.
            }
          }),
      Handler.clientStream(
          Texts.JOIN,
          (requests, call) -> {
            sleep();
            int length = 0;
            for (String one : requests) {
              length += one.length();
            }
            return "" + length;
          }),
      Handler.bidiStream(
          Texts.TALK,
          (requests, responses, call) -> {
            for (String one : requests) {
              sleep();
              responses.send(one);
            }
          }),
    };
  }

  private static Void everything(ExecutorService threads, boolean several) throws Exception {
    Slow slow =
        millis -> {
          sleep();
          return millis;
        };
    AtomicInteger told = new AtomicInteger();
    Server server =
        Server.builder()
            .listen("127.0.0.1:0")
            .serve(handlers())
            .serve(CodeFirst.handlers(slow).toArray(Handler[]::new))
            .limits(Limits.DEFAULTS.withCalls(SLOTS))
            .virtualThreads()
            .admission(
                arrival -> {
                  sleep();
                  return Admitted.ANYBODY;
                })
            .serverInterceptor(
                (call, next) -> {
                  told.incrementAndGet();
                  return next.proceed(call);
                })
            .build()
            .start();
    Client client =
        Client.builder((several ? "dns:" : "") + "localhost:" + server.port())
            .virtualThreads()
            .serve(Handler.unary(Texts.OTHER, (request, call) -> later(request)))
            .connections(several ? 2 : 1)
            .timeout(Duration.ofSeconds(60))
            .build();
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      all.add(threads.submit(() -> calls(client)));
    }
    for (Future<?> one : all) {
      one.get();
    }
    client.gauges().get();
    server.gauges().get();
    ending(threads, client);
    if (several) {
      client.drain(Duration.ofSeconds(60));
      server.stop();
    }
    client.close();
    server.close();
    return null;
  }

  private static String later(String request) throws InterruptedException {
    sleep();
    return request;
  }

  /** One of many threads that wait for slots of the connection, and for answers. */
  private static Void calls(Client client) throws Exception {
    client.connect().get();
    check("a", client.call(Texts.SAY, "a"));
    check("b", client.callAsync(Texts.SAY, "b").get());
    client.send(Texts.NOTE, "c");
    Slow slow = CodeFirst.client(Slow.class, client);
    check("7", "" + slow.sleep(7));
    int got = 0;
    try (ClientStream<String, String> stream = client.open(Texts.COUNT, "d")) {
      for (String one : stream) {
        got += one.length();
      }
    }
    check("800000", "" + got);
    try (ClientStream<String, String> stream = client.open(Texts.JOIN)) {
      for (int i = 0; i < 40; i++) {
        stream.send("e".repeat(20_000));
      }
      check("800000", stream.response());
    }
    try (ClientStream<String, String> stream = client.open(Texts.TALK)) {
      for (int i = 0; i < 5; i++) {
        stream.send("" + i);
        check("" + i, String.valueOf(stream.receive()));
      }
      stream.halfClose();
      check("null", String.valueOf(stream.receive()));
    }
    return null;
  }

  /** What ends otherwise than by an answer. */
  private static void ending(ExecutorService threads, Client client) throws Exception {
    check("x", client.call(Texts.SAY, "back"));
    fails(Code.UNIMPLEMENTED, () -> client.call(Texts.OTHER, "?"));
    fails(Code.DEADLINE_EXCEEDED, () -> client.stream(Texts.TALK, null, soon()).receive());
    Future<?> waits = threads.submit(() -> client.open(Texts.TALK).receive());
    waits.cancel(true);
    Client nobody = Client.of("127.0.0.1:1");
    fails(Code.UNAVAILABLE, () -> nobody.call(Texts.SAY, "?"));
    nobody.close();
  }

  private static CallOptions soon() {
    return CallOptions.NONE.withTimeout(Duration.ofMillis(50));
  }

  private static void fails(Code code, Callable<?> call) throws Exception {
    try {
      call.call();
    } catch (StatusException e) {
      check(code.toString(), e.status().code().toString());
      return;
    }
    throw new AssertionError("want " + code);
  }

  private static void check(String want, String got) {
    if (!want.equals(got)) {
      throw new AssertionError("want " + want + ", got " + got);
    }
  }
}
