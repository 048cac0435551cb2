package io.trunkcall.peer;

import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The flags of bench for load that is to show what becomes of calls under faults. */
final class MixFlags {
  /** The deadline of a call: of two times one between them. */
  record Timeout(long least, long most) {
    // A single one may be negative: it has passed.
    private static final Pattern FORM = Pattern.compile("(-?)([^-]+)(?:-([^-]+))?");

    private static Timeout of(String text) throws UsageError {
      Matcher found = FORM.matcher(text);
      if (found.matches()) {
        boolean negative = !found.group(1).isEmpty();
        long least = Flags.duration(found.group(2)).toNanos();
        if (found.group(3) == null) {
          least = negative ? -least : least;
          return new Timeout(least, least);
        }
        long most = Flags.duration(found.group(3)).toNanos();
        if (!negative && most > least) {
          return new Timeout(least, most);
        }
      }
      throw new UsageError("want a time such as 50ms, or two such as 1ms-50ms");
    }

    Duration draw(SplittableRandom random) {
      return Duration.ofNanos(least == most ? least : random.nextLong(least, most));
    }
  }

  private static final Duration KEEPALIVE = Duration.ofSeconds(20); // the framework's default

  private final Flags.Value<String> mix;
  private final Flags.Value<String> ledger;
  private final Flags.Value<String> policyFile;
  private final Flags.Value<Boolean> observe;
  private final Flags.Value<String> behaviour;
  private final Flags.Value<Timeout> timeout;
  private final Flags.Value<Double> cancelShare;
  private final Flags.Value<Duration> cancelAfter;
  private final Flags.Value<Long> seed;
  private final Flags.Value<PeerFlags.Keepalive> keepalive;

  MixFlags(Flags flags) {
    mix =
        flags.text(
            "--mix",
            "METHOD=WEIGHT,…",
            "",
            "in place of --method: methods drawn at random, of " + Mix.names());
    ledger =
        flags.text(
            "--ledger",
            "FILE",
            "",
            "append a line for each beginning and end of a call, which then has an id");
    policyFile = PeerFlags.policyFile(flags);
    observe =
        flags.toggle(
            "--observe",
            "have an observer count the attempts; with --mix the result then has how many there"
                + " were for a call; and log the client's warnings");
    behaviour = flags.text("--behaviour", "JSON", "{}", "of the requests to FaultService");
    timeout =
        flags.add(
            "--timeout",
            "D or D-D",
            new Timeout(0, 0),
            "deadline of each call; of two times, drawn between them; none unless given",
            Timeout::of);
    cancelShare =
        flags.add(
            "--cancel-share",
            "P",
            0.0,
            "share of the calls that are given up, 0 to 1",
            MixFlags::share);
    cancelAfter =
        flags.add(
            "--cancel-after",
            "D",
            Duration.ofMillis(5),
            "time within which they are, drawn at random",
            PeerFlags::aboveZero);
    seed =
        flags.add(
            "--seed",
            "N",
            1L,
            "decides what is drawn",
            text -> {
              try {
                return Long.parseUnsignedLong(text);
              } catch (NumberFormatException e) {
                throw new UsageError("want a number");
              }
            });
    keepalive = PeerFlags.keepalive(flags, KEEPALIVE);
  }

  private static double share(String text) throws UsageError {
    try {
      double share = Double.parseDouble(text);
      if (share >= 0 && share <= 1) {
        return share;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new UsageError("want a number from 0 to 1");
  }

  /** Whether one of the flags asks for such load. */
  boolean wanted() {
    return mix.given() || ledger.given() || timeout.given() || cancelShare.get() > 0;
  }

  Flags.Value<String> mix() {
    return mix;
  }

  Flags.Value<String> ledger() {
    return ledger;
  }

  Flags.Value<String> policyFile() {
    return policyFile;
  }

  boolean observe() {
    return observe.get();
  }

  String behaviour() {
    return behaviour.get();
  }

  Flags.Value<Timeout> timeout() {
    return timeout;
  }

  double cancelShare() {
    return cancelShare.get();
  }

  Duration cancelAfter() {
    return cancelAfter.get();
  }

  long seed() {
    return seed.get();
  }

  PeerFlags.Keepalive keepalive() {
    return keepalive.get();
  }
}
