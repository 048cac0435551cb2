package com.trunkcall.stock;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.trunkcall.conformance.v1.ConformanceServiceGrpc;
import com.trunkcall.conformance.v1.ObserveRequest;
import com.trunkcall.conformance.v1.Observed;
import com.trunkcall.conformance.v1.Until;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** One case while it is carried out. */
final class Carrying {
  /** Bounds what hangs. */
  static final long LIMIT_SECONDS = 60;

  private static final ExecutorService THREADS = Executors.newCachedThreadPool();

  /** Has the runner do something. */
  interface Doer {
    void askFor(String what) throws IOException;
  }

  private record Carried(JsonObject line, Call call, Future<JsonObject> outcome) {}

  private final ManagedChannel channel;
  private final JsonObject client;
  private final Doer doer;
  private final CompletableFuture<Void> released = new CompletableFuture<>();

  Carrying(ManagedChannel channel, JsonObject client, Doer doer) {
    this.channel = channel;
    this.client = client;
    this.doer = doer;
  }

  JsonArray carryOut(JsonArray lines) throws Exception {
    List<Carried> calls = new ArrayList<>();
    for (JsonElement element : lines) {
      JsonObject line = element.getAsJsonObject();
      Call call = new Call(channel, client, line);
      turnOf(line, calls);
      calls.add(new Carried(line, call, THREADS.submit(() -> make(line, call))));
    }
    for (Carried one : calls) {
      if (!Lines.isSet(one.line, "hold")) {
        settle(one);
      }
    }
    released.complete(null);
    JsonArray outcomes = new JsonArray();
    for (Carried one : calls) {
      outcomes.add(one.outcome.get());
    }
    return outcomes;
  }

  /** Waits until a call may begin, and has done what is to be done before. */
  private void turnOf(JsonObject line, List<Carried> calls) throws Exception {
    if (!calls.isEmpty()) {
      Carried before = calls.get(calls.size() - 1);
      if (Lines.text(line, "begin").equals("beside")) {
        started(before.line, before.call);
      } else if (!Lines.text(line, "begin").equals("at-once")) {
        settle(before);
      }
    }
    if (line.has("do")) {
      doer.askFor(line.get("do").getAsString());
      channel.resetConnectBackoff();
    }
  }

  private static void settle(Carried one) throws InterruptedException {
    try {
      one.outcome.get();
    } catch (ExecutionException later) {
      // It is told when all have ended.
    }
  }

  /** Waits until the handler of a call has started. */
  private void started(JsonObject line, Call call) throws Exception {
    if (Lines.isSet(line, "hold")) {
      call.answered.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    } else {
      observe(call, Until.STARTED);
    }
  }

  private Observed observe(Call call, Until until) {
    if (call.id().isEmpty()) {
      throw new IllegalArgumentException("the call has no plan with an id");
    }
    return ConformanceServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(LIMIT_SECONDS, TimeUnit.SECONDS)
        .observe(ObserveRequest.newBuilder().setId(call.id()).setUntil(until).build());
  }

  /** Makes a call, gives it up when its line says so, and looks what became of it. */
  private JsonObject make(JsonObject line, Call call) throws Exception {
    Context.CancellableContext context = Context.ROOT.withCancellation();
    try {
      String cancel = Lines.text(line, "cancel");
      if (cancel.equals("before")) {
        context.cancel(null);
      } else if (cancel.equals("answered")) {
        call.answered.thenRun(() -> context.cancel(null));
      }
      context.run(() -> call.begin(released));
      if (cancel.equals("started")) {
        started(line, call);
        context.cancel(null);
      }
      JsonObject outcome = call.outcome();
      if (line.has("observe")) {
        Until until = Until.valueOf(line.get("observe").getAsString());
        outcome.add("observed", Lines.plain(observe(call, until)));
      }
      return outcome;
    } finally {
      context.cancel(null);
    }
  }
}
