package io.trunkcall.internal.policy;

import io.trunkcall.Priority;
import io.trunkcall.internal.policy.Reading.Check;
import io.trunkcall.internal.policy.Reading.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What a scope says (policy.md 3.2), and the scopes within it. */
record Scope(int line, String path, String name, Said said, List<Scope> methods) {
  private static final Predicate<String> NAME =
      Pattern.compile("[!-.0-~]{1,255}").asMatchPredicate();

  private static final Form<Priority> PRIORITY =
      (reading, node, path) -> {
        String word =
            Form.word(Stream.of(Priority.values()).map(Priority::word).toArray(String[]::new))
                .read(reading, node, path);
        return word == null ? null : Priority.of(word);
      };

  private static final List<Field> OF_ALL =
      List.of(
          Field.of("timeout", Form.duration("1ns", "24h")),
          Field.of("wait_for_ready", Form.TRUTH),
          Field.of("idempotent", Form.TRUTH),
          Field.of("priority", PRIORITY),
          Field.of("retries", Groups.RETRIES),
          Field.of("hedging", Groups.HEDGING),
          Field.of("breaker", Groups.BREAKER),
          Field.of("outliers", Groups.OUTLIERS),
          Field.of("balancer", Groups.BALANCER),
          Field.of("zones", Groups.ZONES),
          Field.of("rate", Groups.RATE),
          Field.of("concurrency", Groups.CONCURRENCY),
          Field.of("server_rate", Groups.RATE),
          Field.of("server_concurrency", Groups.CONCURRENCY),
          Field.of("faults", Groups.FAULTS));

  private static final List<Field> OF_SERVICE =
      Stream.concat(OF_ALL.stream(), Stream.of(Field.of("methods", Scope::methods))).toList();

  /** What holds for all methods. */
  static Scope defaults(Reading reading, Node node, String path) {
    return read(reading, node, path, "", OF_ALL);
  }

  private static Scope read(
      Reading reading, Node node, String path, String name, List<Field> fields) {
    Check nothing = new Check("says nothing", said -> node.entries.isEmpty());
    Said said = reading.mapping(node, path, fields, List.of(nothing));
    return new Scope(node.line, path, name, said, said.value("methods", List.of()));
  }

  /** All services of a file. */
  static List<Scope> services(Reading reading, Node node, String path) {
    List<Scope> found = new ArrayList<>();
    reading.named(
        node,
        path,
        "service",
        NAME,
        (name, value, at) -> found.add(read(reading, value, at, name, OF_SERVICE)));
    return found;
  }

  private static List<Scope> methods(Reading reading, Node node, String path) {
    List<Scope> found = new ArrayList<>();
    reading.named(
        node,
        path,
        "method",
        NAME,
        (name, value, at) -> found.add(read(reading, value, at, name, OF_ALL)));
    if (node.is(Node.Kind.MAPPING) && node.entries.isEmpty()) {
      reading.fault(node.line, path, "says nothing");
    }
    return found;
  }
}
