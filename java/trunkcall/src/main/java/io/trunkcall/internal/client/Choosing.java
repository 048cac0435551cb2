package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.EndpointState;
import io.trunkcall.Pick;
import io.trunkcall.PickObserver;
import io.trunkcall.Picker;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A client's balancer and its last picker, which may be users' code that does what it must not
 * (client.md 10.10).
 */
final class Choosing {
  private final Endpoints endpoints;
  private final Balancer balancer;
  private final String name;

  private @Nullable Picker picker;
  private @Nullable PickObserver observer; // the picker, if it wants to know how calls end
  private String fault = ""; // what is wrong with the balancer; the picker is one of before

  Choosing(Endpoints endpoints, Balancer balancer) {
    this.endpoints = endpoints;
    this.balancer = balancer;
    String given = balancer.name();
    this.name = given == null || given.isEmpty() ? balancer.getClass().getName() : given;
  }

  /** The picker, if it wants to know how calls end. */
  @Nullable PickObserver observer() {
    return observer;
  }

  /** Whether nothing is wrong and nobody wants to know how calls end. */
  boolean isPlain() {
    return observer == null && fault.isEmpty();
  }

  /** Has the balancer make a picker. */
  void balance(List<EndpointState> set) {
    try {
      Picker made = balancer.balance(set);
      if (made == null) {
        throw new NullPointerException("it has made no picker");
      }
      picker = made;
      observer = made instanceof PickObserver wants ? wants : null;
      fault = "";
    } catch (Throwable thrown) {
      fault = "it failed: " + Resolving.spelled(thrown);
      endpoints.listener.log(System.Logger.Level.ERROR, named(fault), thrown);
    }
  }

  /**
   * The endpoint that the picker chooses of a set of {@code size}; null if none will do now. Throws
   * StatusException: INTERNAL, not sent.
   */
  @Nullable ClientEndpoint ask(Pick call, int size) {
    Picker asked = picker;
    if (asked == null) {
      throw failure(fault);
    }
    EndpointState found;
    try {
      found = asked.pick(call);
      int more = fault.isEmpty() ? 0 : size; // it was kept, and does not know who has left
      for (; more > 0 && found instanceof ClientEndpoint one && one.left(); more--) {
        found = asked.pick(call);
      }
    } catch (Throwable thrown) {
      throw faulty("the picker failed: " + Resolving.spelled(thrown), thrown);
    }
    if (found == null) {
      return null;
    }
    if (!(found instanceof ClientEndpoint chosen) || chosen.of() != endpoints) {
      throw faulty("the picker chose " + found + ", which it was not given", null);
    }
    if (chosen.left() && fault.isEmpty()) {
      throw faulty("the picker chose " + chosen.endpoint() + ", which has left", null);
    }
    return chosen.left() ? null : chosen;
  }

  /** Something that is wrong, with the name of the balancer. */
  String named(String what) {
    return "balancer " + name + ": " + what;
  }

  private StatusException faulty(String what, @Nullable Throwable thrown) {
    endpoints.listener.log(System.Logger.Level.ERROR, named(what), thrown);
    return failure(what);
  }

  private StatusException failure(String what) {
    return new StatusException(
        Status.of(Code.INTERNAL, named(what)).withDelivery(Delivery.NOT_SENT).withLocal(true));
  }
}
