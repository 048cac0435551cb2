package io.trunkcall.internal.client;

import io.trunkcall.Policy;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The policies of a client, by method (client.md 11). Any thread may ask. */
public final class Policies {
  /** No policies. */
  public static final Policies NONE = new Policies(Map.of());

  private static final int REMEMBERED = 4_096; // methods whose policies are kept once put together

  /** What holds for a method: each field is null if no policy says it. */
  public record Holding(
      @Nullable Duration timeout, @Nullable Boolean waitForReady, @Nullable Boolean repeat) {
    static final Holding NOTHING = new Holding(null, null, null);

    /** This, and what it does not say from a less specific policy. */
    Holding or(@Nullable Policy less) {
      return less == null
          ? this
          : new Holding(
              timeout == null ? less.timeout() : timeout,
              waitForReady == null ? less.waitForReady() : waitForReady,
              repeat == null ? less.repeat() : repeat);
    }
  }

  private final Map<String, Policy> given;
  private final Map<String, Holding> found = new ConcurrentHashMap<>();

  private Policies(Map<String, Policy> given) {
    this.given = given;
  }

  /**
   * Policies, of which no two may be of the same method. {@code timeout} is the client's own: that
   * of a policy for all. Throws IllegalArgumentException.
   */
  public static Policies of(Collection<Policy> policies, @Nullable Duration timeout) {
    Map<String, Policy> given = new HashMap<>();
    for (Policy policy : policies) {
      if (given.put(policy.method(), policy) != null) {
        String name = policy.method().isEmpty() ? "all methods" : policy.method();
        throw new IllegalArgumentException("policy of " + name + ": there are two");
      }
    }
    if (timeout != null) {
      Policy all = given.get("");
      if (all != null && all.timeout() != null) {
        throw new IllegalArgumentException(
            "there is a timeout of the client and one of a policy for all methods");
      }
      given.put(
          "",
          all == null
              ? new Policy("", timeout, null, null)
              : new Policy("", timeout, all.waitForReady(), all.repeat()));
    }
    return given.isEmpty() ? NONE : new Policies(Map.copyOf(given));
  }

  /**
   * What holds for the calls of a method that is not streaming, {@code /package.Service/Method}.
   */
  public Holding of(String method) {
    if (given.isEmpty()) {
      return Holding.NOTHING;
    }
    Holding known = found.get(method);
    if (known == null) {
      if (found.size() >= REMEMBERED) {
        found.clear();
      }
      String service = method.substring(0, method.lastIndexOf('/') + 1);
      known = Holding.NOTHING.or(given.get(method)).or(given.get(service)).or(given.get(""));
      found.put(method, known);
    }
    return known;
  }

  /** The same for a streaming method: a timeout is only that of a policy which names it. */
  public Holding ofStream(String method) {
    Holding holds = of(method);
    Policy own = given.get(method);
    Duration timeout = own == null ? null : own.timeout();
    return Objects.equals(timeout, holds.timeout)
        ? holds
        : new Holding(timeout, holds.waitForReady, holds.repeat);
  }
}
