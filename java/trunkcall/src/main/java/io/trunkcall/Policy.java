package io.trunkcall;

import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What holds for the calls of a method, {@code /package.Service/Method}, for those of a service,
 * {@code /package.Service/}, or for all. For each field the most specific policy that sets it
 * counts; the options of the call win over all. Null sets nothing.
 *
 * @param method the method or service; empty for all
 * @param timeout of unary and one-way calls; of streaming calls only if the policy names the method
 * @param waitForReady whether calls wait for a connection until the deadline, or fail when none can
 *     be had
 * @param repeat whether a call that provably was not run is made once more
 */
public record Policy(
    String method,
    @Nullable Duration timeout,
    @Nullable Boolean waitForReady,
    @Nullable Boolean repeat) {

  private static final Pattern FORM = Pattern.compile("(/[^/]+/[^/]*)?");

  /**
   * Throws IllegalArgumentException for another form of the method, a timeout not above 0, or a
   * policy that says nothing.
   */
  public Policy {
    Objects.requireNonNull(method, "method");
    String of = "policy of " + (method.isEmpty() ? "all methods" : method);
    if (timeout == null && waitForReady == null && repeat == null) {
      throw new IllegalArgumentException(of + ": it says nothing");
    }
    if (!FORM.matcher(method).matches()) {
      throw new IllegalArgumentException(
          of + ": want /package.Service/Method, /package.Service/ or nothing");
    }
    if (timeout != null && (timeout.isZero() || timeout.isNegative())) {
      throw new IllegalArgumentException(of + ": the timeout is " + timeout + ", want more than 0");
    }
  }

  /** A builder of a policy for a method, {@code /package.Service/Method}. */
  public static Builder forMethod(String method) {
    return new Builder(method);
  }

  /** A builder of a policy for a service, {@code package.Service}. */
  public static Builder forService(String service) {
    return new Builder("/" + service + "/");
  }

  /** A builder of a policy for all methods. */
  public static Builder forAll() {
    return new Builder("");
  }

  /** Collects what a policy says. Used by one thread. */
  public static final class Builder {
    private final String method;
    private @Nullable Duration timeout;
    private @Nullable Boolean waitForReady;
    private @Nullable Boolean repeat;

    private Builder(String method) {
      this.method = method;
    }

    /** See {@link Policy#timeout}. */
    public Builder timeout(Duration timeout) {
      this.timeout = Objects.requireNonNull(timeout, "timeout");
      return this;
    }

    /** See {@link Policy#waitForReady}. */
    public Builder waitForReady(boolean waitForReady) {
      this.waitForReady = waitForReady;
      return this;
    }

    /** See {@link Policy#repeat}. */
    public Builder repeat(boolean repeat) {
      this.repeat = repeat;
      return this;
    }

    /** The policy. Throws IllegalArgumentException as {@link Policy} does. */
    public Policy build() {
      return new Policy(method, timeout, waitForReady, repeat);
    }
  }
}
