package io.trunkcall.peer;

import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Payload;
import com.trunkcall.fault.v1.Answer;
import com.trunkcall.fault.v1.Behaviour;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.Method;
import io.trunkcall.Response;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** A call that a mix can hold: a method, and all that happens between its begin and its end. */
record MixedCall(Method<?, ?> method, Run run) {
  /** What calls are made with. */
  record Requests(Behaviour behaviour, BenchmarkMessage message, Payload payload) {
    Requests(Behaviour behaviour, Payload payload) {
      this(behaviour, BenchMessages.request(), payload);
    }
  }

  /** Makes the call and checks its answers. */
  @FunctionalInterface
  interface Run {
    void make(Client client, CallOptions options, Requests requests, Mix.Attempt attempt)
        throws Exception;
  }

  /** How many requests a call of Take or Exchange has. */
  private static final int STREAMED = 3;

  /** By the short names of the methods. */
  static final Map<String, MixedCall> BY_NAME = byName();

  private static Map<String, MixedCall> byName() {
    Map<String, MixedCall> all = new LinkedHashMap<>();
    all.put("Say", new MixedCall(BenchMethods.SAY, MixedCall::say));
    all.put("Echo", new MixedCall(BenchMethods.ECHO, MixedCall::echo));
    all.put("Behave", new MixedCall(FaultMethods.BEHAVE, MixedCall::behave));
    all.put("Pour", new MixedCall(FaultMethods.POUR, MixedCall::pour));
    all.put("Take", new MixedCall(FaultMethods.TAKE, MixedCall::take));
    all.put("Exchange", new MixedCall(FaultMethods.EXCHANGE, MixedCall::exchange));
    return Collections.unmodifiableMap(all);
  }

  private static void say(
      Client client, CallOptions options, Requests requests, Mix.Attempt attempt) throws Exception {
    BenchMessages.check(
        answer(client.callAsync(BenchMethods.SAY, requests.message(), options), attempt));
  }

  private static void echo(
      Client client, CallOptions options, Requests requests, Mix.Attempt attempt) throws Exception {
    Payload sent = requests.payload();
    BenchMessages.check(answer(client.callAsync(BenchMethods.ECHO, sent, options), attempt), sent);
  }

  private static void behave(
      Client client, CallOptions options, Requests requests, Mix.Attempt attempt) throws Exception {
    CompletableFuture<Response<Answer>> calling =
        client.unary(FaultMethods.BEHAVE, requests.behaviour(), options);
    answer(calling, attempt);
  }

  private static <R> R answer(CompletableFuture<R> calling, Mix.Attempt attempt) throws Exception {
    attempt.cancelBy(() -> calling.cancel(true));
    try {
      return calling.get();
    } catch (CancellationException e) {
      throw new StatusException(Status.of(Code.CANCELLED, "the caller gave it up"));
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  private static void pour(
      Client client, CallOptions options, Requests requests, Mix.Attempt attempt) {
    try (ClientStream<Behaviour, Answer> stream =
        open(FaultMethods.POUR, client, requests.behaviour(), options, attempt)) {
      receiveAll(stream);
    }
  }

  private static void take(
      Client client, CallOptions options, Requests requests, Mix.Attempt attempt)
      throws WrongAnswerException {
    try (ClientStream<Behaviour, Answer> stream =
        open(FaultMethods.TAKE, client, null, options, attempt)) {
      for (int i = 0; i < STREAMED && stream.send(requests.behaviour()); i++) {
        // as long as the call is not over
      }
      long arrived = stream.response().getRequests();
      if (arrived != STREAMED) {
        throw new WrongAnswerException(arrived + " requests arrived of " + STREAMED);
      }
    }
  }

  private static void exchange(
      Client client, CallOptions options, Requests requests, Mix.Attempt attempt)
      throws WrongAnswerException {
    try (ClientStream<Behaviour, Answer> stream =
        open(FaultMethods.EXCHANGE, client, null, options, attempt)) {
      for (int i = 0; i < STREAMED; i++) {
        stream.send(requests.behaviour());
        if (stream.receive() == null) {
          throw new WrongAnswerException("the call ended before all was answered");
        }
      }
      stream.halfClose();
      receiveAll(stream);
    }
  }

  private static ClientStream<Behaviour, Answer> open(
      Method<Behaviour, Answer> method,
      Client client,
      @Nullable Behaviour request,
      CallOptions options,
      Mix.Attempt attempt) {
    ClientStream<Behaviour, Answer> stream = client.stream(method, request, options);
    attempt.cancelBy(stream::cancel);
    return stream;
  }

  private static void receiveAll(ClientStream<Behaviour, Answer> stream) {
    while (stream.receive() != null) {
      // what it holds is not looked at
    }
  }
}
