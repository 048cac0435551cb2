package io.trunkcall.internal.client;

import io.trunkcall.internal.policy.Ended;
import io.trunkcall.internal.policy.OutlierRules;
import io.trunkcall.internal.policy.Outliers;
import io.trunkcall.internal.policy.Sources;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Which endpoints are left out by the rules of one scope (policy.md 11). On the client's loop. */
public final class OutlierState {
  private final OutlierRules rules;
  private final Sources sources;
  private final Outliers core;
  private @Nullable List<ClientEndpoint> known; // the set that the core was told

  /** One that knows no endpoint. */
  public OutlierState(OutlierRules rules, Sources sources) {
    this.rules = rules;
    this.sources = sources;
    this.core = new Outliers(rules);
  }

  private void know(List<ClientEndpoint> set, long now) {
    if (set != known) {
      known = set;
      core.endpoints(now, set.stream().map(one -> one.endpoint().identity()).toList());
    }
  }

  /** The identities of those of a set that are left out now. */
  List<String> ejected(List<ClientEndpoint> set) {
    long now = sources.now();
    know(set, now);
    return core.ejected(now);
  }

  /** An attempt at an endpoint has ended. */
  public void ended(ClientEndpoint endpoint, Ended end) {
    long now = sources.now();
    know(endpoint.of().order(), now);
    String identity = endpoint.endpoint().identity();
    long until = core.ended(now, identity, rules.trip().judged(end), sources.random());
    if (until >= 0) {
      endpoint.of().ejected(endpoint, Duration.ofNanos(until - now));
    }
  }
}
