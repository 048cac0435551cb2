package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.EndpointState;
import io.trunkcall.Picker;
import java.util.List;

/** The first in the order of the set that is not failing (client.md 10.5). */
final class First implements Balancer {
  @Override
  public String name() {
    return "first";
  }

  @Override
  public boolean lazy() {
    return true;
  }

  @Override
  public Picker balance(List<EndpointState> endpoints) {
    List<EndpointState> candidates = Candidates.notFailing(endpoints);
    return call -> {
      if (candidates.isEmpty()) {
        return null;
      }
      EndpointState first = candidates.get(0);
      return first == call.avoid() && candidates.size() > 1 ? candidates.get(1) : first;
    };
  }
}
