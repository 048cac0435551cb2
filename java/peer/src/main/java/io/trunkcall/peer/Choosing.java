package io.trunkcall.peer;

import io.trunkcall.Balancer;
import io.trunkcall.ClientBuilder;
import io.trunkcall.EndpointState;
import io.trunkcall.Picker;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import java.util.List;
import java.util.Optional;

/** The flags that say which of several endpoints a client calls. */
final class Choosing {
  private final Flags.Value<String> zone;
  private final Flags.Value<Optional<Only>> only;

  Choosing(Flags flags) {
    zone =
        flags.text(
            "--zone", "ZONE", "", "in which the client runs, for the rules of --policy-file");
    only =
        flags.add(
            "--only",
            "KEY=VALUE",
            Optional.empty(),
            "call only endpoints that have this attribute, in turns",
            text -> Optional.of(Only.of(text)));
  }

  ClientBuilder apply(ClientBuilder builder) {
    only.get().ifPresent(builder::balancer);
    return zone.given() ? builder.zone(zone.get()) : builder;
  }

  /**
   * A balancer as users write them: it leaves out endpoints without an attribute, and the choice
   * among the others to another balancer.
   */
  private record Only(String key, String value, Balancer turns) implements Balancer {
    private static Only of(String text) throws UsageError {
      int at = text.indexOf('=');
      if (at < 1) {
        throw new UsageError("want KEY=VALUE");
      }
      return new Only(text.substring(0, at), text.substring(at + 1), Balancer.roundRobin());
    }

    @Override
    public Picker balance(List<EndpointState> endpoints) {
      return turns.balance(
          endpoints.stream()
              .filter(one -> value.equals(one.endpoint().attributes().get(key)))
              .toList());
    }
  }
}
