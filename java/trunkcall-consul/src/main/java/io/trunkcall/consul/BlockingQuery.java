package io.trunkcall.consul;

import io.trunkcall.registry.RegistryException;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.time.Duration;

/**
 * Asks the same again and again; the agent answers once there is something new (registry.md 10.4).
 * Used by one thread.
 */
final class BlockingQuery {
  private static final Duration WAITS = Duration.ofSeconds(60); // for a change
  // Consul itself waits up to a sixteenth longer.
  static final Duration ANSWERED = WAITS.plus(WAITS.dividedBy(16)).plus(Agent.ANSWERED);

  private final Agent agent;
  private final String what;
  private final boolean mayLack;
  private final long between;
  private final Duration answered;

  /** Takes what is new. */
  interface Taker {
    /** An answer, whose body is closed behind it. */
    void take(int status, InputStream body) throws IOException, InterruptedException;
  }

  /**
   * A question.
   *
   * @param what ends where more parameters follow
   * @param mayLack whether it is an answer that there is no such thing
   * @param between ms from one question to the next at least
   * @param answered for how long each answer may take, in full
   */
  BlockingQuery(Agent agent, String what, boolean mayLack, long between, Duration answered) {
    this.agent = agent;
    this.what = what;
    this.mayLack = mayLack;
    this.between = between;
    this.answered = answered;
  }

  /** Until the thread is interrupted. */
  void run(Taker taker) throws IOException, InterruptedException {
    long index = 0;
    while (true) {
      // At first consistent, or a server that has just been started may tell of its past.
      long asked = System.nanoTime();
      String how =
          index == 0 ? "consistent" : "index=" + index + "&wait=" + WAITS.toSeconds() + "s";
      HttpResponse<InputStream> answer = agent.get(what + how, answered);
      try (InputStream body = answer.body()) {
        int status = answer.statusCode();
        if (status != Agent.OK && !(mayLack && status == Agent.NOT_FOUND)) {
          throw Agent.refused(status, body);
        }
        long next = index(answer);
        if (next > index) {
          taker.take(status, body);
        }
        index = next < index ? 0 : next; // less: Consul has begun anew, and is not believed
      }
      Thread.sleep(Math.max(between - (System.nanoTime() - asked) / 1_000_000, 0));
    }
  }

  private static long index(HttpResponse<?> answer) throws RegistryException {
    String said = answer.headers().firstValue("X-Consul-Index").orElse("");
    try {
      return Math.max(Long.parseLong(said), 1);
    } catch (NumberFormatException none) {
      throw new RegistryException("Consul's answer has the index \"" + said + "\"");
    }
  }
}
