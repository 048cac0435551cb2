package io.trunkcall.load;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The flags of one command: two dashes and a name, then a value as the next word or behind {@code
 * =}. Given twice, the later one counts.
 */
public final class Flags {
  /** What a flag was given, or has unless it is given. */
  public static final class Value<T> {
    private T value;
    private boolean given;

    private Value(T unlessGiven) {
      value = unlessGiven;
    }

    public T get() {
      return value;
    }

    public boolean given() {
      return given;
    }
  }

  /** Turns the text of a value into one, or says what is wanted in place of it. */
  @FunctionalInterface
  public interface Parser<T> {
    T parse(String text) throws UsageError;
  }

  private record Flag<T>(Value<T> value, String placeholder, String help, Parser<T> parser) {
    void set(String text) throws UsageError {
      value.value = parser.parse(text);
      value.given = true;
    }
  }

  private static final String HELP = "--help";
  private static final Pattern TIME = Pattern.compile("(\\d+\\.?\\d*|\\.\\d+)(ns|us|µs|ms|s|m|h)");

  private final String command;
  private final Map<String, Flag<?>> flags = new LinkedHashMap<>();

  /** For a command by its whole name, such as {@code java-grpc bench}. */
  public Flags(String command) {
    this.command = command;
  }

  /** A flag with values of any kind; an empty placeholder makes one without a value. */
  public <T> Value<T> add(
      String name, String placeholder, T unlessGiven, String help, Parser<T> parser) {
    Value<T> value = new Value<>(unlessGiven);
    flags.put(name, new Flag<>(value, placeholder, help, parser));
    return value;
  }

  public Value<String> text(String name, String placeholder, String unlessGiven, String help) {
    return add(name, placeholder, unlessGiven, help, text -> text);
  }

  public Value<Boolean> toggle(String name, String help) {
    return add(name, "", false, help, text -> true);
  }

  /** One of some words, the first unless given. */
  public Value<String> choice(String name, List<String> choices, String help) {
    String wanted = String.join(", ", choices);
    return add(
        name,
        "NAME",
        choices.get(0),
        help + ": " + wanted,
        text -> {
          if (!choices.contains(text)) {
            throw new UsageError("want one of " + wanted);
          }
          return text;
        });
  }

  public Value<Integer> number(String name, int unlessGiven, int least, String help) {
    return add(
        name,
        "N",
        unlessGiven,
        help,
        text -> {
          try {
            int number = Integer.parseInt(text);
            if (number >= least) {
              return number;
            }
          } catch (NumberFormatException e) {
            // Told below.
          }
          throw new UsageError("want a whole number, at least " + least);
        });
  }

  /** A number above 0, which may have a fraction. */
  public Value<Double> rate(String name, String help) {
    return add(
        name,
        "N",
        0.0,
        help,
        text -> {
          try {
            double rate = Double.parseDouble(text);
            if (rate > 0 && Double.isFinite(rate)) {
              return rate;
            }
          } catch (NumberFormatException e) {
            // Told below.
          }
          throw new UsageError("want a number above 0");
        });
  }

  public Value<Duration> time(String name, Duration unlessGiven, String help) {
    return add(name, "TIME", unlessGiven, help, Flags::duration);
  }

  /** {@code 250ms}, {@code 2s}, {@code 1m30s}. */
  public static Duration duration(String text) throws UsageError {
    if (text.equals("0")) {
      return Duration.ZERO;
    }
    Matcher part = TIME.matcher(text);
    double nanos = 0;
    int end = 0;
    while (part.find() && part.start() == end) {
      nanos += Double.parseDouble(part.group(1)) * nanosOf(part.group(2));
      end = part.end();
    }
    if (end == 0 || end < text.length() || nanos > Long.MAX_VALUE) {
      throw new UsageError("want a time such as 2s or 250ms");
    }
    return Duration.ofNanos(Math.round(nanos));
  }

  private static double nanosOf(String unit) {
    return switch (unit) {
      case "ns" -> 1;
      case "us", "µs" -> 1e3;
      case "ms" -> 1e6;
      case "s" -> 1e9;
      case "m" -> 60e9;
      default -> 3600e9;
    };
  }

  /** Reads the words behind the command. Returns false if help was asked for. */
  public boolean parse(List<String> words) throws UsageError {
    List<String> others = new ArrayList<>();
    boolean read = parse(words, others);
    if (read && !others.isEmpty()) {
      throw new UsageError("there is nothing to do with " + others.get(0));
    }
    return read;
  }

  /** The same for commands that also take words that are no flags: they are added to the others. */
  public boolean parse(List<String> words, List<String> others) throws UsageError {
    Iterator<String> left = words.iterator();
    while (left.hasNext()) {
      String word = left.next();
      if (word.equals(HELP) || word.equals("-h")) {
        return false;
      }
      if (!word.startsWith("--")) {
        others.add(word);
        continue;
      }
      int equals = word.indexOf('=');
      String name = equals < 0 ? word : word.substring(0, equals);
      Flag<?> flag = flags.get(name);
      if (flag == null) {
        throw new UsageError("there is no flag " + name);
      }
      String value = "";
      if (flag.placeholder().isEmpty()) {
        if (equals >= 0) {
          throw new UsageError(name + " takes no value");
        }
      } else if (equals >= 0) {
        value = word.substring(equals + 1);
      } else if (left.hasNext()) {
        value = left.next();
      } else {
        throw new UsageError(name + " wants a value, " + flag.placeholder());
      }
      try {
        flag.set(value);
      } catch (UsageError e) {
        throw new UsageError(name + " " + value + ": " + e.getMessage());
      }
    }
    return true;
  }

  public String help() {
    StringBuilder text = new StringBuilder(command).append(" takes\n");
    flags.forEach(
        (name, flag) ->
            text.append(
                String.format("  %-28s %s%n", name + " " + flag.placeholder(), flag.help())));
    return text.toString();
  }
}
