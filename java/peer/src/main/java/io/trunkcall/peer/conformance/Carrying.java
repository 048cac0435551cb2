package io.trunkcall.peer.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.trunkcall.conformance.v1.ObserveRequest;
import com.trunkcall.conformance.v1.Observed;
import com.trunkcall.conformance.v1.Request;
import com.trunkcall.conformance.v1.Until;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Method;
import io.trunkcall.peer.CodeFirstCall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** One case while it is carried out. */
final class Carrying {
  /** Has the runner do something, and returns when that is done. */
  @FunctionalInterface
  interface Doing {
    void ask(String what) throws Exception;
  }

  /** One of its calls. */
  private static final class Carried {
    final JsonObject line;
    final List<Object> requests;
    final CompletableFuture<@Nullable Void> begun = new CompletableFuture<>();
    final CompletableFuture<@Nullable Void> answered = new CompletableFuture<>();
    @Nullable Future<Result> result;

    Carried(JsonObject line) {
      this.line = line;
      this.requests = Lines.requests(line);
    }

    /** That of its plan. */
    String id() {
      boolean planned = !requests.isEmpty() && requests.get(0) instanceof Request;
      return planned ? ((Request) requests.get(0)).getPlan().getId() : "";
    }

    boolean says(String key) {
      return line.has(key) && line.get(key).getAsBoolean();
    }

    String text(String key) {
      return line.has(key) ? line.get(key).getAsString() : "";
    }
  }

  private final Client client;
  private final Doing doing;
  private final ExecutorService threads;
  private final boolean inJson;
  private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();

  Carrying(Client client, Doing doing, ExecutorService threads, boolean inJson) {
    this.client = client;
    this.doing = doing;
    this.threads = threads;
    this.inJson = inJson;
  }

  List<Result> carryOut(JsonArray lines) throws Exception {
    List<Carried> calls = new ArrayList<>();
    try {
      for (int i = 0; i < lines.size(); i++) {
        Carried one = new Carried(lines.get(i).getAsJsonObject());
        if (i > 0) {
          awaitTurn(one, calls.get(i - 1));
        }
        if (one.line.has("do")) {
          doing.ask(one.text("do"));
        }
        one.result = threads.submit(() -> make(one));
        calls.add(one);
      }
      for (Carried one : calls) {
        if (!one.says("hold")) {
          end(one);
        }
      }
      released.complete(null);
      List<Result> results = new ArrayList<>();
      for (Carried one : calls) {
        results.add(end(one));
      }
      return results;
    } finally {
      for (Carried one : calls) {
        if (one.result != null) {
          one.result.cancel(true);
        }
      }
    }
  }

  private static Result end(Carried one) throws Exception {
    if (one.result == null) {
      throw new IllegalStateException("a call was not made");
    }
    try {
      return one.result.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  /** Waits until a call may begin. */
  private void awaitTurn(Carried one, Carried before) throws Exception {
    switch (one.text("begin")) {
      case "at-once" -> before.begun.get();
      case "beside" -> started(before);
      default -> end(before);
    }
  }

  /** Waits until the handler of a call has started. */
  private void started(Carried one) throws Exception {
    if (one.says("hold")) {
      one.answered.get();
    } else {
      observe(one, Until.STARTED);
    }
  }

  private Observed observe(Carried one, Until until) {
    if (one.id().isEmpty()) {
      throw new IllegalArgumentException("the call has no plan with an id");
    }
    return client.call(
        CaseMethods.OBSERVE, ObserveRequest.newBuilder().setId(one.id()).setUntil(until).build());
  }

  /** Makes a call, and gives it up when its line says so. */
  private Result make(Carried one) throws Exception {
    CompletableFuture<@Nullable Void> giveUp = new CompletableFuture<>();
    try {
      Method<Object, ?> method =
          one.line.has("arguments")
              ? CodeFirstCall.method(one.text("method"), "msgpack")
              : CaseMethods.called(one.text("method"), inJson);
      OutgoingCall outgoing =
          new OutgoingCall(
              method,
              one.requests,
              options(one),
              one.says("hold") ? released : CompletableFuture.completedFuture(null),
              giveUp,
              () -> one.begun.complete(null),
              () -> one.answered.complete(null));
      Future<?> watching = watch(one, giveUp);
      Result result;
      try {
        do {
          result = outgoing.make(client, threads);
        } while (one.says("whileOk") && result.failure == null);
      } finally {
        watching.cancel(true);
      }
      if (one.line.has("observe")) {
        result.observed = observe(one, Until.valueOf(one.text("observe")));
      }
      return result;
    } finally {
      one.begun.complete(null);
    }
  }

  private static CallOptions options(Carried one) {
    CallOptions options = CallOptions.NONE;
    if (one.line.has("metadata")) {
      options = options.withMetadata(CaseData.fromLines(one.line.getAsJsonArray("metadata")));
    }
    if (one.line.has("timeoutMs")) {
      options = options.withTimeout(Duration.ofMillis(one.line.get("timeoutMs").getAsLong()));
    }
    return one.says("waitForReady") ? options.withWaitForReady(true) : options;
  }

  /** Gives a call up when its time has come. */
  private Future<?> watch(Carried one, CompletableFuture<@Nullable Void> giveUp) {
    switch (one.text("cancel")) {
      case "before" -> giveUp.complete(null);
      case "started" -> {
        return threads.submit(
            () -> {
              started(one);
              return giveUp.complete(null);
            });
      }
      case "answered" -> {
        return one.answered.thenRun(() -> giveUp.complete(null));
      }
      default -> {
        // "ended" has nothing left to give up
      }
    }
    return CompletableFuture.completedFuture(null);
  }
}
