package io.trunkcall.internal.client;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.State;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.ArrayList;
import java.util.List;

/**
 * How the endpoints of a client stand: what is told of them where there is no connection, and
 * whether all are connected that are to be beforehand. On the client's loop.
 */
final class Standing {
  private static final int NAMED = 8; // endpoints that an error names

  private final Endpoints endpoints;

  Standing(Endpoints endpoints) {
    this.endpoints = endpoints;
  }

  private List<ClientEndpoint> order() {
    return endpoints.order();
  }

  /** Whether an endpoint is ready. */
  boolean ready() {
    return order().stream().anyMatch(one -> one.state() == State.READY);
  }

  /** See {@link Endpoints#waitsFor}. */
  String waitsFor() {
    return order().isEmpty() ? "the resolver" : "an endpoint that is ready";
  }

  /** See {@link Endpoints#trouble}. */
  String trouble() {
    if (order().isEmpty()) {
      return endpoints.unresolved();
    }
    if (ready()) {
      return "";
    }
    List<String> said = new ArrayList<>();
    for (ClientEndpoint one : order()) {
      if (!one.last().isEmpty() && said.size() < NAMED) {
        said.add(endpoints.alone() ? one.last() : one.endpoint() + ": " + one.last());
      }
    }
    if (said.isEmpty()) {
      return unheard();
    }
    int more = order().size() - said.size();
    if (more > 0) {
      said.add("and " + more + " more");
    }
    return String.join("; ", said);
  }

  /** What is known of a server that has accepted a connection and not spoken. */
  private String unheard() {
    for (ClientEndpoint one : order()) {
      for (Link link : one.live()) {
        String why = link.greeted() ? "" : link.unheard();
        if (!why.isEmpty()) {
          return link.remote() + ": " + why;
        }
      }
    }
    return "";
  }

  /** See {@link Endpoints#connected}, which has woken them. */
  boolean connected() {
    if (endpoints.lazy() && order().stream().noneMatch(ClientEndpoint::trying)) {
      wantFirst();
    }
    List<ClientEndpoint> up = order().stream().filter(one -> one.state() == State.READY).toList();
    if (unsettled()
        || (up.isEmpty() && endpoints.hopeful())
        || up.stream().anyMatch(Standing::silent)) {
      return false;
    }
    boolean missing =
        endpoints.alone()
            && order().get(0).connectors.stream().anyMatch(one -> !one.hasConnection());
    if (up.isEmpty() || missing) {
      String trouble = missing ? order().get(0).last() : trouble();
      String text = trouble.isEmpty() ? "the connection was lost" : trouble;
      throw new StatusException(
          Status.of(Code.UNAVAILABLE, text).withDelivery(Delivery.NOT_SENT).withLocal(true));
    }
    return true;
  }

  /**
   * Whether what comes of a first attempt, or of one for a further connection, is not known yet.
   */
  private boolean unsettled() {
    return order().stream()
        .anyMatch(
            one -> one.state() == State.CONNECTING || (one.state() == State.READY && one.trying()));
  }

  /** Whether a server at one of the connections has yet to greet. */
  private static boolean silent(ClientEndpoint endpoint) {
    return endpoint.live().stream().anyMatch(link -> !link.greeted() && !link.lost());
  }

  /** Has the first endpoint connected that is not failing, as a lazy balancer may want it. */
  private void wantFirst() {
    for (ClientEndpoint one : order()) {
      if (one.state() != State.FAILING) {
        one.want();
        return;
      }
    }
  }
}
