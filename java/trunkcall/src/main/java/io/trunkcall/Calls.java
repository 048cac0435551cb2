package io.trunkcall;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.client.Attempts;
import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.client.Policies;
import io.trunkcall.internal.policy.HedgeRules;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.TurnLoop;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What a client, which takes whichever of its connections is there, and a connection, which is one,
 * have in common. Any thread may call; what is said to be of the loop is used there only.
 */
abstract class Calls implements Caller {
  static final String CLOSED = "the client is closed";

  final Calling calling;

  Calls(Calling calling) {
    this.calling = calling;
  }

  // What it takes a client or a connection to know. On the loop, except loop, hand and isClosed.

  /** The loop of its connections. */
  abstract EventLoop loop();

  /** Has work done on the loop. Any thread. */
  abstract void hand(Runnable work);

  /** Whether no calls can be made any more. Any thread. */
  abstract boolean isClosed();

  /** A connection for a call; null if there is none now. Throws StatusException: not sent. */
  abstract @Nullable Carrier pick(OpeningCall call);

  /** Whether there may soon be a connection. */
  abstract boolean hopeful(OpeningCall call);

  /** Why there is no connection that a call could have. */
  abstract String noConnection();

  /** Why there is no connection, empty if there is one or nothing is known. */
  abstract String trouble();

  /** What a call without a connection waits for, for people. */
  abstract String waitsFor();

  /** Has a call look again when the connections change. */
  abstract void watch(OpeningCall call);

  abstract void unwatch(OpeningCall call);

  /** A connection takes no more calls: later ones are to use another. */
  abstract void retire(Carrier carrier);

  /** Where calls wait for a slot of a connection. */
  abstract Slots slots(Carrier carrier);

  /** The endpoint that a connection leads to, of a client's. */
  abstract @Nullable ClientEndpoint endpointOf(Carrier carrier);

  /** Whether a call that was turned away over one connection may be made over another. */
  abstract boolean elsewhere();

  /** Whether a call that ended so may be made once more, if there is budget. */
  abstract boolean mayRepeat(Status status, @Nullable Boolean policy);

  // Calls.

  @Override
  public <Q, R> CompletableFuture<Response<R>> unary(
      Method<Q, R> method, Q request, CallOptions options) {
    return unary(method, request, options, false);
  }

  @Override
  public <Q, R> R call(Method<Q, R> method, Q request, CallOptions options) {
    answering(method);
    return message(Blocking.get(unary(method, request, options, true)));
  }

  @Override
  public <Q> void send(Method<Q, Void> method, Q request, CallOptions options) {
    Blocking.get(unary(method, request, options, true));
  }

  /** {@code waits}: this thread does nothing but wait for it then. */
  final <Q, R> CompletableFuture<Response<R>> unary(
      Method<Q, R> called, Q request, CallOptions options, boolean waits) {
    Method<Q, R> method = called.in(options.codec());
    if (method.kind().streams()) {
      throw new IllegalArgumentException(
          method.name() + " is " + method.kind() + ": it is opened, not called");
    }
    Rules rules = calling.rules(method);
    Policies.Holding policy = rules == null ? calling.policies.of(method.name()) : rules.holding;
    long timeout = timeout(options, policy, rules);
    boolean wait = waits(options, policy);
    if (calling.interceptors.isEmpty()) {
      long inherited = CurrentCall.inherited();
      long deadline = CurrentCall.deadline(timeout, inherited);
      long had = deadline == inherited ? 0 : timeout;
      return begin(
          method,
          request,
          options.metadata(),
          options,
          deadline,
          had,
          wait,
          policy.repeat(),
          rules,
          waits);
    }
    return intercepted(method, request, options, timeout, wait, policy, rules);
  }

  private <Q, R> CompletableFuture<Response<R>> begin(
      Method<Q, R> method,
      Q request,
      Metadata metadata,
      CallOptions options,
      long deadline,
      long had,
      boolean wait,
      @Nullable Boolean repeat,
      @Nullable Rules rules,
      boolean waits) {
    if (rules == null) { // else it counts in the budget of the file
      calling.repeating.counted();
    }
    Output data;
    try {
      checkOpen();
      data = Responses.encoded(method, request, Delivery.NOT_SENT);
    } catch (StatusException e) {
      return CompletableFuture.failedFuture(e);
    }
    Output packed = calling.packed(method, data, options.compression());
    Priority priority = Priorities.of(options.priority(), rules);
    Metadata sent = Priorities.carrying(metadata, rules == null ? options.priority() : priority);
    int most = options.maxReceive();
    boolean mayLead = waits && TurnLoop.mayLead();
    GovernedCall once = rules == null ? null : new GovernedCall(rules, priority, false);
    HedgeRules hedging = rules == null ? null : rules.holds.hedging();
    if (once != null && hedging != null) {
      Function<Governed, UnaryCall<R>> attempt =
          by ->
              new UnaryCall<>(
                  this, method, sent, data, packed, most, deadline, had, wait, repeat, by, mayLead);
      HedgedCall<R> call = new HedgedCall<>(this, once, hedging, attempt);
      return made(call, call.result, mayLead);
    }
    UnaryCall<R> call =
        new UnaryCall<>(
            this, method, sent, data, packed, most, deadline, had, wait, repeat, once, mayLead);
    return made(call, call.result, mayLead);
  }

  /**
   * Has a call made: by this thread, which waits for it, where no other is to be woken for that.
   */
  private <T> CompletableFuture<T> made(
      Runnable call, CompletableFuture<T> result, boolean mayLead) {
    if (!mayLead || !lead(call, result)) {
      hand(call);
    }
    return result;
  }

  private boolean lead(Runnable call, CompletableFuture<?> result) {
    TurnLoop loop = TurnLoop.of(loop());
    if (loop == null || !loop.isAside()) {
      return false;
    }
    ServerCall within = CurrentCall.set(null); // it is not what other calls are made in
    try {
      return loop.lead(call, result);
    } finally {
      CurrentCall.set(within);
    }
  }

  /** When a call has to end, and how long it had, if that is by a timeout of its own; else 0. */
  private record Limit(long deadline, long had) {
    static Limit of(long timeout) {
      long inherited = CurrentCall.inherited();
      long deadline = CurrentCall.deadline(timeout, inherited);
      return new Limit(deadline, deadline == inherited ? 0 : timeout);
    }
  }

  /** What interceptors go on with is what they were given, or of the same type. */
  @SuppressWarnings("unchecked")
  private static <Q> Q request(Call call) {
    return (Q) Objects.requireNonNull(call.request(), "request");
  }

  @SuppressWarnings("unchecked")
  private <Q, R> CompletableFuture<Response<R>> intercepted(
      Method<Q, R> method,
      Q request,
      CallOptions options,
      long timeout,
      boolean wait,
      Policies.Holding policy,
      @Nullable Rules rules) {
    Attempts attempts = new Attempts();
    ServerCall within = CurrentCall.get();
    Cancelling cancelling = new Cancelling();
    Limit limit = Limit.of(timeout);
    Duration given = duration(timeout);
    Call call = new Call(method, options.metadata(), request, given, null, null);
    Next last =
        one -> {
          attempts.begin();
          ServerCall before = CurrentCall.set(within);
          CompletableFuture<Response<R>> made;
          try {
            boolean kept = Objects.equals(one.timeout(), given);
            Limit until = kept ? limit : Limit.of(micros(one.timeout()));
            made =
                begin(
                    method,
                    Calls.<Q>request(one),
                    one.metadata(),
                    options,
                    until.deadline,
                    until.had,
                    wait,
                    policy.repeat(),
                    rules,
                    false);
          } finally {
            CurrentCall.set(before);
          }
          cancelling.add(made);
          return CallFuture.of(
              made.whenComplete((response, error) -> attempts.end(delivery(error))),
              response -> {
                call.answered(response);
                return response.message();
              });
        };
    CallFuture<Response<R>> result = new CallFuture<>(cancelling);
    Interceptions.call(calling.interceptors, call, last)
        .whenComplete(
            (message, error) -> {
              StatusException failure = null;
              if (error != null) {
                failure = Intercepted.failure(error, attempts);
              } else if (message == null && method.kind() == Kind.UNARY) {
                failure = Intercepted.nothing(method, attempts.wentOn(), attempts.delivery());
              }
              call.end(failure == null ? Status.OK : failure.status());
              if (failure != null) {
                result.completeExceptionally(failure);
              } else {
                result.complete(answer((R) message, call));
              }
            });
    return result;
  }

  private static <R> Response<R> answer(@Nullable R message, Call call) {
    Response<?> came = call.response();
    return came == null
        ? new Response<>(message, Metadata.EMPTY, Metadata.EMPTY, "", Duration.ZERO)
        : new Response<>(message, came.headers(), came.trailers(), came.peer(), came.serverTime());
  }

  private static Delivery delivery(@Nullable Throwable error) {
    if (error == null) {
      return Delivery.EXECUTED;
    }
    return CallFuture.unwrapped(error) instanceof StatusException failure
        ? failure.status().delivery()
        : Delivery.UNKNOWN;
  }

  @Override
  public <Q, R> ClientStream<Q, R> stream(
      Method<Q, R> called, @Nullable Q request, CallOptions options) {
    Method<Q, R> method = called.in(options.codec());
    if (!method.kind().streams()) {
      throw new IllegalArgumentException(
          method.name() + " is " + method.kind() + ": it is called, not opened");
    }
    if (method.kind().takesOne() != (request != null)) {
      throw new IllegalArgumentException(
          method.name()
              + (request == null ? " takes a request" : " takes its requests one by one"));
    }
    Rules rules = calling.rules(method);
    Policies.Holding policy =
        rules == null ? calling.policies.ofStream(method.name()) : rules.streaming;
    long timeout = timeout(options, policy, rules);
    boolean wait = waits(options, policy);
    if (calling.interceptors.isEmpty()) {
      long inherited = CurrentCall.inherited();
      long deadline = CurrentCall.deadline(timeout, inherited);
      long had = deadline == inherited ? 0 : timeout;
      return new OpenedStream<>(
          open(method, request, options.metadata(), options, deadline, had, wait, rules));
    }
    return intercepted(method, request, options, timeout, wait, rules);
  }

  private <Q, R> StreamCall open(
      Method<Q, R> method,
      @Nullable Q request,
      Metadata metadata,
      CallOptions options,
      long deadline,
      long had,
      boolean wait,
      @Nullable Rules rules) {
    if (rules == null) {
      calling.repeating.counted();
    }
    Output first = null;
    StatusException wrong = null;
    try {
      checkOpen();
      first = request == null ? null : Responses.encoded(method, request, Delivery.NOT_SENT);
    } catch (StatusException e) {
      wrong = e;
    }
    Priority priority = Priorities.of(options.priority(), rules);
    Metadata sent = Priorities.carrying(metadata, rules == null ? options.priority() : priority);
    GovernedCall governed = rules == null ? null : new GovernedCall(rules, priority, true);
    StreamCall call =
        new StreamCall(this, method, sent, first, options, deadline, had, wait, governed);
    if (wrong == null) {
      hand(call);
    } else {
      call.failed(wrong);
    }
    return call;
  }

  @SuppressWarnings("unchecked")
  private <Q, R> ClientStream<Q, R> intercepted(
      Method<Q, R> method,
      @Nullable Q request,
      CallOptions options,
      long timeout,
      boolean wait,
      @Nullable Rules rules) {
    Attempts attempts = new Attempts();
    ServerCall within = CurrentCall.get();
    OpenedStream<Q, R> stream = new OpenedStream<>();
    Limit limit = Limit.of(timeout);
    Duration given = duration(timeout);
    Call call = new Call(method, options.metadata(), request, given, null, null);
    Next last =
        one -> {
          attempts.begin();
          ServerCall before = CurrentCall.set(within);
          StreamCall made;
          try {
            boolean kept = Objects.equals(one.timeout(), given);
            Limit until = kept ? limit : Limit.of(micros(one.timeout()));
            made =
                open(
                    method,
                    (Q) one.request(),
                    one.metadata(),
                    options,
                    until.deadline,
                    until.had,
                    wait,
                    rules);
          } finally {
            CurrentCall.set(before);
          }
          stream.began(made);
          made.status.thenAccept(
              status -> {
                attempts.end(status.delivery());
                call.end(status);
              });
          return made.open;
        };
    CompletionStage<? extends @Nullable Object> made =
        Interceptions.call(calling.interceptors, call, last);
    stream.follow(
        made,
        error -> {
          StatusException failure =
              error == null
                  ? Intercepted.nothing(method, attempts.wentOn(), attempts.delivery())
                  : Intercepted.failure(error, attempts);
          call.end(failure.status());
          return failure;
        });
    return stream;
  }

  private void checkOpen() {
    if (isClosed()) {
      throw Failures.local(Code.CANCELLED, CLOSED, Delivery.NOT_SENT);
    }
  }

  private static boolean waits(CallOptions options, Policies.Holding policy) {
    Boolean said = options.waitForReady() == null ? policy.waitForReady() : options.waitForReady();
    return said != null && said;
  }

  private static long timeout(CallOptions options, Policies.Holding policy, @Nullable Rules rules) {
    long said = options.timeoutMicros();
    boolean left = said == 0 || (said == CallOptions.AS_FILE_SAYS && rules != null);
    return left ? micros(policy.timeout()) : said;
  }

  private static long micros(@Nullable Duration timeout) {
    if (timeout == null) {
      return 0;
    }
    boolean left = !timeout.isZero() && !timeout.isNegative();
    return left ? Checks.timeoutMicros("timeout", timeout) : CallOptions.PAST;
  }

  private static @Nullable Duration duration(long timeout) {
    if (timeout == 0 || timeout >= CallOptions.ENDLESS / 8) {
      return null;
    }
    return timeout < 0 ? Duration.ZERO : Duration.of(timeout, ChronoUnit.MICROS);
  }

  // For callers of all kinds.

  static void answering(Method<?, ?> method) {
    if (method.kind() == Kind.ONE_WAY) {
      throw new IllegalArgumentException(method.name() + " is one-way: it is sent, not called");
    }
  }

  static <R> R message(Response<R> response) {
    R message = response.message();
    if (message == null) {
      throw new IllegalStateException("a response without a message");
    }
    return message;
  }
}
