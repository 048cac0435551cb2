package io.trunkcall.examples.features;

import io.trunkcall.Admission;
import io.trunkcall.Admitted;
import io.trunkcall.Call;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientInterceptor;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Handler;
import io.trunkcall.Kind;
import io.trunkcall.Next;
import io.trunkcall.Server;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An interceptor that makes unary calls again which provably did not run, within a budget: a server
 * that is overloaded is not asked many times as often.
 */
public final class Retry implements ClientInterceptor {
  private static final int ATTEMPTS = 3;

  /** Tenths of a call that may be made again: one for each call, 100 at most. */
  private final AtomicInteger tenths = new AtomicInteger(100);

  @Override
  public CompletionStage<?> intercept(Call call, Next next) {
    tenths.updateAndGet(spare -> Math.min(spare + 1, 100));
    return attempt(call, next, 1);
  }

  private CompletionStage<?> attempt(Call call, Next next, int number) {
    return next.proceed(call)
        .handle(
            (answer, error) -> {
              if (error == null) {
                return CompletableFuture.completedFuture(answer);
              }
              Throwable cause = error instanceof CompletionException ? error.getCause() : error;
              boolean again = call.method().kind() == Kind.UNARY && number < ATTEMPTS;
              if (!again || !(cause instanceof StatusException e) || !didNotRun(e.status())) {
                return CompletableFuture.failedFuture(cause);
              }
              if (tenths.addAndGet(-10) < 0) {
                tenths.addAndGet(10);
                return CompletableFuture.failedFuture(cause);
              }
              return CompletableFuture.supplyAsync(() -> null, later(number))
                  .thenCompose(waited -> attempt(call, next, number + 1));
            })
        .thenCompose(outcome -> outcome);
  }

  private static boolean didNotRun(Status status) {
    boolean known = status.delivery() == Delivery.NOT_SENT || status.delivery() == Delivery.REFUSED;
    return status.code() == Code.UNAVAILABLE && known;
  }

  private static Executor later(int attempt) {
    long millis = ThreadLocalRandom.current().nextLong(10L << attempt);
    return CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS);
  }

  public static void main(String[] args) throws IOException {
    AtomicInteger arrivals = new AtomicInteger();
    Admission overloaded =
        call -> {
          if (arrivals.incrementAndGet() < 3) { // at first
            throw new StatusException(Code.UNAVAILABLE, "overloaded");
          }
          return Admitted.ANYBODY;
        };
    Handler get =
        Handler.unary(Users.GET, (request, call) -> Users.user("user-" + request.getUserId()));
    try (Server server = Server.builder().admission(overloaded).serve(get).build();
        Client client =
            Client.builder(server.listen("127.0.0.1:0"))
                .clientInterceptor(new Retry())
                .repeat(false) // by itself
                .build()) {
      CallOptions limited = CallOptions.NONE.withTimeout(Duration.ofSeconds(30));
      String name = client.call(Users.GET, Users.request(7), limited).getName();
      System.out.println(name + " at attempt " + arrivals.get());
    }
  }
}
