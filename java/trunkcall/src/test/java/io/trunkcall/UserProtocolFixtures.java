package io.trunkcall;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** Calls and protocols of users, for tests of them. */
final class UserProtocolFixtures {
  private UserProtocolFixtures() {}

  /** The messages of a call, from queues. */
  static final class Queues implements Exchange {
    final LinkedBlockingQueue<CompletableFuture<byte[]>> requests = new LinkedBlockingQueue<>();
    final LinkedBlockingQueue<String> answers = new LinkedBlockingQueue<>();
    volatile CompletableFuture<Void> takes = CompletableFuture.completedFuture(null);
    volatile Metadata headers = Metadata.EMPTY;

    static Queues of(String... requests) {
      Queues made = new Queues();
      for (String one : requests) {
        made.add(one);
      }
      made.requests.add(CompletableFuture.completedFuture(null));
      return made;
    }

    void add(String request) {
      add(request.getBytes(StandardCharsets.UTF_8));
    }

    void add(byte[] request) {
      requests.add(CompletableFuture.completedFuture(request));
    }

    @Override
    public CompletionStage<byte[]> receive() throws InterruptedException {
      return requests.take();
    }

    @Override
    public void sendHeaders(Metadata given) {
      headers = given;
    }

    @Override
    public CompletionStage<?> send(byte[] message) {
      answers.add(new String(message, StandardCharsets.UTF_8));
      return takes;
    }

    String answer() throws InterruptedException {
      return answers.poll(60, TimeUnit.SECONDS);
    }
  }

  /** One without a listener. */
  static final class Broker implements Protocol {
    final AtomicInteger starts = new AtomicInteger();
    final CompletableFuture<Void> stopped = new CompletableFuture<>();
    volatile Supplier<Void> stopping = () -> null;
    volatile IncomingCalls calls;

    @Override
    public String name() {
      return "broker";
    }

    @Override
    public void start(IncomingCalls given) throws IOException {
      if (starts.incrementAndGet() == 1 && stopping == null) {
        throw new IOException("no broker");
      }
      calls = given;
    }

    @Override
    public void stop() {
      stopping.get();
      stopped.complete(null);
    }

    Ending serve(Method<?, ?> method, Exchange exchange) {
      return Pair.await(calls.serve(IncomingCall.of(method.name(), Codec.RAW), exchange));
    }
  }

  /** A line is a request of Say, and so is its answer. */
  static class Lines implements PortProtocol {
    volatile IncomingCalls calls;

    @Override
    public String name() {
      return "lines";
    }

    @Override
    public void start(IncomingCalls given) {
      calls = given;
    }

    @Override
    public Recognition recognize(byte[] first) {
      if (first[0] != '/') {
        return Recognition.NO;
      }
      return first.length < 4 ? Recognition.MORE : Recognition.YES;
    }

    @Override
    public void serve(PortConnection connection) throws Exception {
      connection.ending().thenRun(connection::endInput);
      BufferedReader in =
          new BufferedReader(new InputStreamReader(connection.input(), StandardCharsets.UTF_8));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Queues messages = Queues.of(line);
        IncomingCall call = IncomingCall.of(Texts.SAY.name(), Codec.RAW).withConnection(connection);
        Ending ending = calls.serve(call, messages).get();
        String told = ending.status().ok() ? messages.answer() : ending.status().toString();
        connection.output().write((told + "\n").getBytes(StandardCharsets.UTF_8));
      }
    }
  }
}
