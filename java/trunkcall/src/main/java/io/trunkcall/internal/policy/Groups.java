package io.trunkcall.internal.policy;

import static io.trunkcall.internal.policy.Form.CODE;
import static io.trunkcall.internal.policy.Form.CODES;
import static io.trunkcall.internal.policy.Form.duration;
import static io.trunkcall.internal.policy.Form.whole;
import static io.trunkcall.internal.policy.Form.word;

import io.trunkcall.Code;
import io.trunkcall.Priority;
import io.trunkcall.internal.policy.Reading.Check;
import io.trunkcall.internal.policy.Reading.Field;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The groups that a scope may have (policy.md 3.3). */
final class Groups {
  private static final long MILLION = 1_000_000;
  private static final Pattern KEY = Pattern.compile("[a-z0-9_.-]{1,255}");
  private static final Pattern FAULT = Pattern.compile("[a-z0-9_-]{1,64}");
  private static final int MOST_FAULTS = 16;

  private Groups() {}

  /** Reads a mapping by its fields; null if it has a fault. */
  private static <G> Form<G> mapping(
      List<Field> fields, List<Check> checks, Function<Said, G> made) {
    return (reading, node, path) -> {
      int before = reading.count();
      Said said = reading.mapping(node, path, fields, checks);
      return reading.count() == before ? made.apply(said) : null;
    };
  }

  /** Reads a group of a scope, or none. */
  private static Form<Object> orNone(Form<?> group) {
    return (reading, node, path) -> {
      if (node.isNone()) {
        return Said.NONE;
      }
      if (!node.is(Node.Kind.MAPPING)) {
        reading.wants("a mapping or none", node, path);
        return null;
      }
      return group.read(reading, node, path);
    };
  }

  private static final long BACKOFF = 50 * Numbers.MILLISECOND;

  static final Form<Object> RETRIES =
      orNone(
          mapping(
              List.of(
                  Field.of("attempts", whole(1, 10)),
                  Field.of("backoff", duration("1ns", "1h")),
                  Field.of("max_backoff", duration("1ns", "1h")),
                  Field.of("multiplier", whole(100, 1_000)),
                  Field.of("jitter", whole(0, 100)),
                  Field.of("codes", CODES)),
              List.of(
                  new Check(
                      "backoff-above-max: backoff is above max_backoff",
                      said ->
                          said.number("backoff", BACKOFF)
                              > said.number("max_backoff", Long.MAX_VALUE))),
              Groups::retries));

  private static RetryRules retries(Said said) {
    long backoff = said.number("backoff", BACKOFF);
    return new RetryRules(
        said.number("attempts", 3),
        backoff,
        said.number("max_backoff", Math.max(Numbers.SECOND, backoff)),
        said.number("multiplier", 200),
        said.number("jitter", 100),
        said.value("codes", Codes.of(Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE)));
  }

  private static final Codes STOP =
      Codes.of(
          Code.INVALID_ARGUMENT,
          Code.NOT_FOUND,
          Code.ALREADY_EXISTS,
          Code.PERMISSION_DENIED,
          Code.FAILED_PRECONDITION,
          Code.OUT_OF_RANGE,
          Code.UNIMPLEMENTED,
          Code.UNAUTHENTICATED);

  static final Form<Object> HEDGING =
      orNone(
          mapping(
              List.of(
                  Field.required("delay", duration("1ns", "1h")),
                  Field.of("attempts", whole(2, 5)),
                  Field.of("stop", CODES)),
              List.of(),
              said ->
                  new HedgeRules(
                      said.number("delay", 0),
                      said.number("attempts", 2),
                      said.value("stop", STOP))));

  private static final List<Field> TRIP =
      List.of(
          Field.of("consecutive", whole(1, MILLION)),
          Field.of("percent", whole(1, 100)),
          Field.of("calls", whole(1, MILLION)),
          Field.of("window", duration("1s", "1h")),
          Field.of("codes", CODES));

  private static final List<Check> TRIP_CHECKS =
      List.of(
          new Check(
              "trigger-missing: want consecutive or percent",
              said -> !said.has("consecutive") && !said.has("percent")),
          new Check(
              "percent-missing: calls and window want percent",
              said -> !said.has("percent") && (said.has("calls") || said.has("window"))));

  private static final Codes FAILURES =
      Codes.of(
          Code.UNKNOWN,
          Code.DEADLINE_EXCEEDED,
          Code.RESOURCE_EXHAUSTED,
          Code.INTERNAL,
          Code.UNAVAILABLE);

  private static TripRules trip(Said said) {
    return new TripRules(
        said.number("consecutive", 0),
        said.number("percent", 0),
        said.number("calls", 20),
        said.number("window", 10 * Numbers.SECOND),
        said.value("codes", FAILURES));
  }

  private static <T> List<T> join(List<T> some, List<T> more) {
    return Stream.concat(some.stream(), more.stream()).toList();
  }

  static final Form<Object> BREAKER =
      orNone(
          mapping(
              join(
                  TRIP,
                  List.of(
                      Field.of("open", duration("1ms", "1h")), Field.of("probes", whole(1, 100)))),
              TRIP_CHECKS,
              said ->
                  new BreakerRules(
                      trip(said),
                      said.number("open", 5 * Numbers.SECOND),
                      said.number("probes", 1))));

  private static final long EJECT = 30 * Numbers.SECOND;

  static final Form<Object> OUTLIERS =
      orNone(
          mapping(
              join(
                  TRIP,
                  List.of(
                      Field.of("eject", duration("1ms", "1h")),
                      Field.of("max_eject", duration("1ms", "24h")),
                      Field.of("cap", whole(1, 100)))),
              join(
                  TRIP_CHECKS,
                  List.of(
                      new Check(
                          "eject-above-max: eject is above max_eject",
                          said ->
                              said.number("eject", EJECT)
                                  > said.number("max_eject", Long.MAX_VALUE)))),
              Groups::outliers));

  private static OutlierRules outliers(Said said) {
    long eject = said.number("eject", EJECT);
    long most = said.number("max_eject", Math.max(5 * Numbers.MINUTE, eject));
    return new OutlierRules(trip(said), eject, most, said.number("cap", 10));
  }

  private static final Form<String> ENTRY_KEY =
      (reading, node, path) -> {
        if (!node.is(Node.Kind.TEXT) || !KEY.matcher(node.text).matches()) {
          reading.wants("the key of a metadata entry", node, path);
        }
        return node.text;
      };

  static final Form<Object> BALANCER =
      orNone(
          mapping(
              List.of(
                  Field.required("name", word("first", "round_robin", "least_loaded", "hash")),
                  Field.of("key", ENTRY_KEY)),
              List.of(
                  new Check(
                      "key-missing: hash wants a key",
                      said -> said.text("name").equals("hash") && !said.has("key")),
                  new Check(
                      "key-unused: only hash has a key",
                      said -> !said.text("name").equals("hash") && said.has("key"))),
              said -> new BalancerRules(said.text("name"), said.text("key"))));

  static final Form<Object> ZONES =
      orNone(
          mapping(
              List.of(
                  Field.of("healthy", whole(1, 100)),
                  Field.of("overflow_calls", whole(1, MILLION))),
              List.of(),
              said -> new ZoneRules(said.number("healthy", 70), said.number("overflow_calls", 0))));

  private static final Form<Shares> SHARES =
      mapping(
          Stream.of(Priority.values()).map(one -> Field.of(one.word(), whole(1, 100))).toList(),
          List.of(
              new Check(
                  "shares-crossed: a lower priority has more", said -> shares(said).crossed())),
          Groups::shares);

  private static Shares shares(Said said) {
    Shares otherwise = Shares.DEFAULT;
    return new Shares(
        said.number("critical", otherwise.critical()),
        said.number("high", otherwise.high()),
        said.number("normal", otherwise.normal()),
        said.number("low", otherwise.low()));
  }

  static final Form<Object> RATE =
      orNone(
          mapping(
              List.of(
                  Field.required("per_second", whole(1, MILLION)),
                  Field.of("burst", whole(1, MILLION)),
                  Field.of("shares", SHARES)),
              List.of(),
              Groups::rate));

  private static RateRules rate(Said said) {
    long perSecond = said.number("per_second", 1);
    long burst = said.number("burst", perSecond);
    return new RateRules(perSecond, burst, said.value("shares", Shares.DEFAULT));
  }

  private static final Form<ConcurrencyRules.Adaptive> ADAPTIVE =
      mapping(
          List.of(
              Field.of("least", whole(1, MILLION)),
              Field.of("most", whole(1, MILLION)),
              Field.of("start", whole(1, MILLION)),
              Field.of("samples", whole(1, 10_000)),
              Field.of("window", duration("1ms", "1m")),
              Field.of("tolerance", whole(100, 1_000)),
              Field.of("remeasure", duration("1s", "1h"))),
          List.of(
              new Check(
                  "bounds-crossed: want least <= start <= most",
                  said -> {
                    ConcurrencyRules.Adaptive read = adaptive(said);
                    return read.least() > read.start() || read.start() > read.most();
                  })),
          Groups::adaptive);

  private static ConcurrencyRules.Adaptive adaptive(Said said) {
    return new ConcurrencyRules.Adaptive(
        said.number("least", 1),
        said.number("most", 1_000),
        said.number("start", 20),
        said.number("samples", 20),
        said.number("window", 100 * Numbers.MILLISECOND),
        said.number("tolerance", 150),
        said.number("remeasure", Numbers.MINUTE));
  }

  static final Form<Object> CONCURRENCY =
      orNone(
          mapping(
              List.of(
                  Field.of("limit", whole(1, MILLION)),
                  Field.of("adaptive", ADAPTIVE),
                  Field.of("shares", SHARES)),
              List.of(
                  new Check(
                      "limit-missing: want limit or adaptive",
                      said -> !said.has("limit") && !said.has("adaptive")),
                  new Check(
                      "limit-twice: want one of limit and adaptive",
                      said -> said.has("limit") && said.has("adaptive"))),
              said ->
                  new ConcurrencyRules(
                      said.number("limit", 0),
                      said.value("adaptive"),
                      said.value("shares", Shares.DEFAULT))));

  private static final List<Field> FAULT_FIELDS =
      List.of(
          Field.required("per_million", whole(1, MILLION)),
          Field.of("delay", duration("1ns", "1h")),
          Field.of("code", CODE));

  private static final List<Check> FAULT_CHECKS =
      List.of(
          new Check(
              "fault-empty: want delay or code", said -> !said.has("delay") && !said.has("code")));

  static final Form<Object> FAULTS = orNone(Groups::faults);

  private static List<FaultRules> faults(Reading reading, Node node, String path) {
    List<FaultRules> found = new ArrayList<>();
    reading.named(
        node,
        path,
        "fault",
        name -> FAULT.matcher(name).matches(),
        (name, value, at) -> {
          Said said = reading.mapping(value, at, FAULT_FIELDS, FAULT_CHECKS);
          found.add(
              new FaultRules(
                  name,
                  said.number("per_million", 0),
                  said.number("delay", 0),
                  said.value("code", Code.OK)));
        });
    if (node.entries.size() > MOST_FAULTS) {
      reading.fault(node.line, path, "has more than " + MOST_FAULTS + " faults");
    }
    found.sort(Comparator.comparing(FaultRules::name));
    return List.copyOf(found);
  }
}
