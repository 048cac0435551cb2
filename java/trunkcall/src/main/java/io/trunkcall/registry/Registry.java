package io.trunkcall.registry;

import io.trunkcall.Resolver;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Registries by their names, {@code SCHEME:REST} (registry.md 4), and what finds servers in them.
 */
public final class Registry {
  // The forms of registry.md 4 and client.md 6.1.
  private static final Pattern SCHEME = Pattern.compile("[a-z][a-z0-9+.-]*");
  private static final Pattern DOMAIN =
      Pattern.compile("[A-Za-z0-9_-]{1,63}(\\.[A-Za-z0-9_-]{1,63})*");
  private static final int MOST_DOMAIN = 253;

  /** The schemes that packages of ours beside this one have. */
  private static final Set<String> PACKAGES = Set.of("consul", "etcd", "zookeeper");

  private static final Map<String, Function<String, Source>> SCHEMES =
      new ConcurrentHashMap<>(
          Map.of(
              "file", Registry::folder,
              "srv", Registry::srv,
              "trunkcall", Registry::embedded));

  private Registry() {}

  /**
   * A kind of registry that another package has: it is found by {@link ServiceLoader}, so that it
   * is enough to have the package.
   */
  public interface Scheme {
    /** What names of such registries begin with, as {@code etcd}. */
    String name();

    /**
     * The registry of a name, by what follows the scheme.
     *
     * @throws IllegalArgumentException that says what is wanted, for what names none
     */
    Source open(String rest);
  }

  /**
   * What finds the instances of SERVICE for targets {@code SCHEME:SERVICE}: {@code
   * Client.builder("registry:users").resolver("registry", Registry.resolver(store))}. Any number of
   * clients may use it.
   */
  public static Resolver resolver(Source source) {
    return new RegistryResolver(Objects.requireNonNull(source, "source"));
  }

  /**
   * Has {@link #open} make registries of a scheme, by a function of what follows it, which throws
   * IllegalArgumentException for what names none. It takes the place of what was there.
   *
   * @throws IllegalArgumentException for what is no scheme
   */
  public static void addScheme(String scheme, Function<String, Source> open) {
    if (!SCHEME.matcher(scheme).matches()) {
      throw new IllegalArgumentException(
          "scheme \"" + scheme + "\": want small letters, and digits, +, . and - behind the first");
    }
    SCHEMES.put(scheme, Objects.requireNonNull(open, "open"));
  }

  /**
   * A registry by its name: {@code trunkcall:ADDRESS}, {@code file:FOLDER} with an absolute path,
   * {@code srv:DOMAIN}, or of a scheme of another package. All but DNS are a {@link Store}.
   *
   * @throws IllegalArgumentException that quotes the name and says what is wrong with it
   */
  public static Source open(String name) {
    int colon = name.indexOf(':');
    String scheme = colon < 0 ? "" : name.substring(0, colon);
    if (!SCHEME.matcher(scheme).matches()) {
      throw new IllegalArgumentException("registry \"" + name + "\": want SCHEME:REST");
    }
    Function<String, Source> open = opener(scheme);
    if (open == null) {
      throw new IllegalArgumentException(
          "registry \""
              + name
              + "\": no package for \""
              + scheme
              + "\" is in this program: "
              + advice(scheme));
    }
    try {
      return open.apply(name.substring(colon + 1));
    } catch (IllegalArgumentException fault) {
      throw new IllegalArgumentException("registry \"" + name + "\": " + fault.getMessage(), fault);
    }
  }

  /**
   * The same for a registry in which servers are published.
   *
   * @throws IllegalArgumentException also for one in which they are found only
   */
  public static Store openStore(String name) {
    if (open(name) instanceof Store store) {
      return store;
    }
    throw new IllegalArgumentException(
        "registry \"" + name + "\": servers are found there, but not published");
  }

  /** What there is instead, and what to add for a scheme of a package of ours. */
  private static String advice(String scheme) {
    Set<String> there = new TreeSet<>(SCHEMES.keySet());
    for (Scheme one : ServiceLoader.load(Scheme.class, Registry.class.getClassLoader())) {
      there.add(one.name());
    }
    String more =
        PACKAGES.contains(scheme) ? "add the artifact io.trunkcall:trunkcall-" + scheme + "; " : "";
    return more + "there are " + String.join(", ", there);
  }

  private static @Nullable Function<String, Source> opener(String scheme) {
    Function<String, Source> known = SCHEMES.get(scheme);
    if (known != null) {
      return known;
    }
    for (Scheme one : ServiceLoader.load(Scheme.class, Registry.class.getClassLoader())) {
      if (one.name().equals(scheme)) {
        return one::open;
      }
    }
    return null;
  }

  private static Source folder(String rest) {
    try {
      Path path = Path.of(rest);
      if (path.isAbsolute()) {
        return new Folder(path);
      }
    } catch (InvalidPathException none) {
      // It is told below.
    }
    throw new IllegalArgumentException("want file:FOLDER with an absolute path");
  }

  private static Source srv(String rest) {
    if (rest.length() > MOST_DOMAIN || !DOMAIN.matcher(rest).matches()) {
      throw new IllegalArgumentException("want srv:DOMAIN");
    }
    return new Srv(rest);
  }

  private static Source embedded(String rest) {
    try {
      return new Embedded(rest);
    } catch (IllegalArgumentException fault) {
      throw new IllegalArgumentException("want trunkcall:ADDRESS: " + fault.getMessage(), fault);
    }
  }
}
