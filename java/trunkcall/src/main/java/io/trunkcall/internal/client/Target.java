package io.trunkcall.internal.client;

import io.trunkcall.Endpoint;
import io.trunkcall.Resolver;
import io.trunkcall.internal.transport.Address;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What the user of a client has named (client.md 6): endpoints that are known, or a resolver that
 * finds them.
 *
 * @param scheme empty if the endpoints stand in the target
 * @param rest what follows the scheme; the whole text if there is none
 * @param resolver null if the endpoints stand in the target
 * @param known the endpoints that stand in the target, each once
 */
public record Target(
    String text, String scheme, String rest, @Nullable Resolver resolver, List<Resolved> known) {
  private static final Set<String> ADDRESSES = Set.of("unix", "mem", "ws", "wss");
  private static final Pattern SCHEME = Pattern.compile("[a-z][a-z0-9+.-]*");

  /** What follows the colon of what is meant as an address, or as a URL. */
  private static final Pattern PLACE = Pattern.compile("//|[0-9]+(/|\\z)");

  /** Reads a target. Throws IllegalArgumentException, whose message quotes what is at fault. */
  public static Target parse(String text, Map<String, Resolver> resolvers) {
    resolvers.keySet().forEach(Target::checkScheme);
    int colon = text.indexOf(':');
    String scheme = colon < 0 ? "" : text.substring(0, colon);
    String rest = text.substring(colon + 1);
    Resolver given = colon < 0 ? null : resolvers.get(scheme);
    if (given != null) {
      if (given instanceof Dns) {
        Dns.place(rest);
      }
      return new Target(text, scheme, rest, given, List.of());
    }
    if (scheme.equals("dns")) {
      Dns.place(rest);
      return new Target(text, scheme, rest, new Dns(), List.of());
    }
    return new Target(text, "", text, null, Resolved.check(parts(text)));
  }

  /**
   * Says what is wrong with a scheme that a user gives a resolver for: throws
   * IllegalArgumentException.
   */
  public static void checkScheme(String scheme) {
    if (!SCHEME.matcher(scheme).matches() || ADDRESSES.contains(scheme)) {
      throw new IllegalArgumentException(
          "resolver for \""
              + scheme
              + "\": a scheme is of small letters and digits, and none of ours");
    }
  }

  private static List<Endpoint> parts(String text) {
    String[] parts = text.split(",", -1);
    List<Endpoint> found = new ArrayList<>(parts.length);
    for (String given : parts) {
      String part = given.strip();
      if (part.isEmpty() && parts.length > 1) {
        throw new IllegalArgumentException("target \"" + text + "\": a part of it is empty");
      }
      try {
        Address.parse(part);
      } catch (IllegalArgumentException fault) {
        throw new IllegalArgumentException(withScheme(part, String.valueOf(fault.getMessage())));
      }
      found.add(Endpoint.of(part));
    }
    return found;
  }

  /**
   * Why a part is no address, and what else may be wrong with it: first what is more likely meant.
   */
  private static String withScheme(String part, String why) {
    int colon = part.indexOf(':');
    String scheme = colon < 0 ? "" : part.substring(0, colon);
    String rest = part.substring(colon + 1);
    if (rest.isEmpty() || !SCHEME.matcher(scheme).matches() || ADDRESSES.contains(scheme)) {
      return why;
    }
    if (scheme.equals("dns")) {
      return why + "; dns: is for a whole target, with one HOST:PORT";
    }
    String none = "no resolver was given for the scheme \"" + scheme + "\"";
    if (PLACE.matcher(rest).lookingAt()) {
      return why + "; " + none + " either";
    }
    String whole = "target \"" + part + "\": ";
    String more = why.startsWith(whole) ? why.substring(whole.length()) : why;
    return whole + none + "; as an address: " + more;
  }

  /** What errors call the resolver. */
  String resolverName() {
    return "resolver " + scheme;
  }
}
