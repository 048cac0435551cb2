package io.trunkcall.registry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where another program's registry is reached, for packages of registries: what its name says
 * behind the scheme, {@code HOST:PORT,…/ROOT?lease=SECONDS} (registry.md 4.1).
 *
 * @param hosts 1 to 9, each {@code HOST:PORT}
 * @param root what stands above all keys, names with {@code /} between them; empty unless given
 * @param lease for how long a server counts that is not heard of, in whole seconds; zero unless
 *     given
 */
public record Place(List<String> hosts, String root, Duration lease) {
  /** What stands above all keys unless something else is given. */
  public static final String ROOT = "trunkcall/v1";

  /** For how long a server counts that is not heard of, unless something else is given. */
  public static final Duration LEASE = Duration.ofSeconds(15);

  private static final int MOST_HOSTS = 9;
  private static final int MOST_PORT = 65_535;
  private static final int MOST_SECONDS = 3_600;
  private static final Pattern HOST =
      Pattern.compile("(?:[A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.]{2,45}\\]):([0-9]{1,5})");
  private static final Pattern QUERY = Pattern.compile("lease=([0-9]{1,4})");

  /**
   * A place, which a program may make itself.
   *
   * @throws IllegalArgumentException for what is none
   */
  public Place {
    hosts = List.copyOf(hosts);
    if (hosts.isEmpty() || hosts.size() > MOST_HOSTS || !hosts.stream().allMatch(Place::isHost)) {
      throw new IllegalArgumentException("hosts " + hosts + ": want 1 to 9 of HOST:PORT");
    }
    if (!root.isEmpty() && !isRoot(root)) {
      throw new IllegalArgumentException("root \"" + root + "\": want names with / between them");
    }
    long seconds = lease.toSeconds();
    boolean whole = lease.equals(Duration.ofSeconds(seconds));
    if (!lease.isZero() && (!whole || seconds < 1 || seconds > MOST_SECONDS)) {
      throw new IllegalArgumentException("lease " + lease + ": want whole seconds, 1 s to 1 h");
    }
  }

  /** Reads a place; empty if it is none. */
  public static Optional<Place> parse(String text) {
    int question = text.indexOf('?');
    String path = question < 0 ? text : text.substring(0, question);
    int slash = path.indexOf('/');
    String hosts = slash < 0 ? path : path.substring(0, slash);
    String root = slash < 0 ? "" : path.substring(slash + 1);
    long seconds = 0;
    if (question >= 0) {
      Matcher found = QUERY.matcher(text.substring(question + 1));
      if (!found.matches() || Integer.parseInt(found.group(1)) == 0) {
        return Optional.empty();
      }
      seconds = Integer.parseInt(found.group(1));
    }
    if (slash >= 0 && root.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(new Place(split(hosts, ','), root, Duration.ofSeconds(seconds)));
    } catch (IllegalArgumentException none) {
      return Optional.empty();
    }
  }

  private static List<String> split(String text, char at) {
    List<String> parts = new ArrayList<>();
    int from = 0;
    for (int to = text.indexOf(at); to >= 0; to = text.indexOf(at, from)) {
      parts.add(text.substring(from, to));
      from = to + 1;
    }
    parts.add(text.substring(from));
    return parts;
  }

  private static boolean isHost(String text) {
    Matcher found = HOST.matcher(text);
    if (!found.matches()) {
      return false;
    }
    int port = Integer.parseInt(found.group(1));
    return port >= 1 && port <= MOST_PORT;
  }

  private static boolean isRoot(String text) {
    return split(text, '/').stream().allMatch(one -> Names.isName(one, Names.MOST_ID));
  }

  /** The root, or what stands for it. */
  public String rootOrUsual() {
    return root.isEmpty() ? ROOT : root;
  }

  /** The lease, or what stands for it. */
  public Duration leaseOrUsual() {
    return lease.isZero() ? LEASE : lease;
  }
}
