package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.EndpointState;
import io.trunkcall.Pick;
import io.trunkcall.Picker;
import io.trunkcall.State;
import io.trunkcall.internal.policy.BalancerRules;
import io.trunkcall.internal.policy.Sources;
import io.trunkcall.internal.policy.ZoneRules;
import io.trunkcall.internal.policy.ZoneRules.Place;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the endpoints of the calls of methods with the same rules about that (policy.md 9, 11,
 * 14): some are left out, and one of our balancers makes a picker of the rest. On the client's
 * loop.
 */
public final class Chooser {
  private final @Nullable OutlierState outliers;
  private final @Nullable ZoneRules zones;
  private final @Nullable Balancer balancer;
  private final String zone;
  private final Sources sources;

  private final Map<Place, Picker> pickers = new EnumMap<>(Place.class);
  private long version = -1; // of the endpoints for which they were made
  private List<String> ejected = List.of(); // and of those then left out

  /**
   * Made of rules: null where none is left out, zones make no difference, or the balancer is the
   * client's. {@code zone} is where the client runs, empty if it does not know.
   */
  public Chooser(
      @Nullable OutlierState outliers,
      @Nullable ZoneRules zones,
      @Nullable BalancerRules balancer,
      String zone,
      Sources sources) {
    this.outliers = outliers;
    this.zones = zone.isEmpty() ? null : zones;
    this.balancer = balancer == null ? null : balancer(balancer);
    this.zone = zone;
    this.sources = sources;
  }

  private static Balancer balancer(BalancerRules rules) {
    return switch (rules.name()) {
      case "first" -> Balancers.first();
      case "least_loaded" -> Balancers.leastLoaded();
      case "hash" -> Balancers.hash(rules.key());
      default -> Balancers.roundRobin();
    };
  }

  /** Whether it leaves the choice to a balancer of the user's, which is told of changes only. */
  boolean isIdle(Endpoints of) {
    return balancer == null && !Balancers.isOwn(of.balancer());
  }

  /** The endpoint of a call; null: none for now. One that was tried is the last choice. */
  @Nullable ClientEndpoint choose(Endpoints of, Pick call, Collection<ClientEndpoint> tried) {
    List<ClientEndpoint> set = of.order();
    List<String> out = outliers == null ? List.of() : outliers.ejected(set);
    if (version != of.version() || !out.equals(ejected)) {
      version = of.version();
      ejected = out;
      pickers.clear();
    }
    Place place = zones == null ? Place.ALL : place(set, zones);
    if (!tried.isEmpty()) {
      List<EndpointState> rest = among(set, one -> isAvailable(one) && !tried.contains(one));
      if (!rest.isEmpty()) {
        List<EndpointState> inside = rest.stream().filter(one -> isAt(one, place)).toList();
        return (ClientEndpoint) used(of).balance(inside.isEmpty() ? rest : inside).pick(call);
      }
    }
    EndpointState found = picker(of, set, place).pick(call);
    if (found == null && place != Place.ALL) {
      found = picker(of, set, Place.ALL).pick(call);
    }
    return (ClientEndpoint) found; // ours pick among what they were given
  }

  private Balancer used(Endpoints of) {
    return balancer == null ? of.balancer() : balancer;
  }

  private boolean isAvailable(ClientEndpoint one) {
    return one.state() == State.READY && !ejected.contains(one.endpoint().identity());
  }

  private boolean isAt(EndpointState one, Place place) {
    return place == Place.ALL || one.endpoint().zone().equals(zone) == (place == Place.OWN);
  }

  private static List<EndpointState> among(
      List<ClientEndpoint> set, Predicate<ClientEndpoint> wanted) {
    return set.stream().filter(wanted).<EndpointState>map(one -> one).toList();
  }

  private Place place(List<ClientEndpoint> set, ZoneRules rules) {
    long total = 0;
    long available = 0;
    long calls = 0;
    long others = 0;
    for (ClientEndpoint one : set) {
      if (!one.endpoint().zone().equals(zone)) {
        others += isAvailable(one) ? 1 : 0;
        continue;
      }
      total++;
      available += isAvailable(one) ? 1 : 0;
      calls += one.calls();
    }
    return rules.pick(new ZoneRules.There(total, available, calls, others), sources.random());
  }

  private Picker picker(Endpoints of, List<ClientEndpoint> set, Place place) {
    Picker found = pickers.get(place);
    if (found == null) {
      List<EndpointState> kept =
          among(set, one -> isAt(one, place) && !ejected.contains(one.endpoint().identity()));
      boolean anyReady = kept.stream().anyMatch(one -> one.state() == State.READY);
      // Else every ready one is left out, and then none is (policy.md 11).
      found = used(of).balance(anyReady ? kept : among(set, one -> isAt(one, place)));
      pickers.put(place, found);
    }
    return found;
  }
}
