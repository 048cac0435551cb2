package io.trunkcall.internal.transport;

import io.netty.util.NetUtil;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One place to dial or to listen on (client.md 6.2): a Unix socket if {@code path} is not empty,
 * memory of this process if {@code name} is not, else TCP. {@code url} is that of a WebSocket to
 * open there.
 */
public record Address(String host, int port, String path, String url, String name) {
  private static final Pattern HOST_PORT =
      Pattern.compile(
          "(?U)(?:\\[(?<six>[^\\[\\]]*:[^\\[\\]]*)\\]|(?<host>[^:\\[\\]/\\s]*)):(?<port>[^:]*)");

  /** A place for TCP. */
  public static Address tcp(String host, int port) {
    return new Address(host, port, "", "", "");
  }

  /**
   * Reads an address to dial: {@code HOST:PORT}, {@code [IPV6]:PORT}, {@code unix:PATH}, {@code
   * mem:NAME}, {@code ws://HOST:PORT/PATH} or {@code wss://HOST:PORT/PATH}. Throws
   * IllegalArgumentException, whose message quotes the text and says what is wrong with it.
   */
  public static Address parse(String text) {
    String form = "target \"%s\": %s: want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH";
    if (text.startsWith("ws://")) {
      return webSocket(text, "ws://".length(), 80);
    }
    if (text.startsWith("wss://")) {
      return webSocket(text, "wss://".length(), 443);
    }
    Address found = read(text, form, 1);
    boolean nowhere = found.host.isEmpty() && found.path.isEmpty() && found.name.isEmpty();
    return nowhere ? tcp("localhost", found.port) : found;
  }

  /**
   * Reads an address to listen on: {@code HOST:PORT}, {@code [IPV6]:PORT}, {@code unix:PATH} or
   * {@code mem:NAME}. The host may be empty, for all of this machine, and the port 0, for any.
   * Throws as {@link #parse}.
   */
  public static Address parseListening(String text) {
    return read(text, "cannot listen on \"%s\": %s: want HOST:PORT, unix:PATH or mem:NAME", 0);
  }

  private static Address read(String text, String form, int leastPort) {
    try {
      if (text.startsWith("unix:")) {
        return new Address("", 0, named(text, "unix:"), "", "");
      }
      if (text.startsWith("mem:")) {
        return new Address("", 0, "", "", named(text, "mem:"));
      }
      return hostAndPort(text, leastPort);
    } catch (Fault fault) {
      throw new IllegalArgumentException(form.formatted(text, fault.getMessage()));
    }
  }

  private static String named(String text, String kind) throws Fault {
    if (text.length() == kind.length()) {
      throw new Fault("there is nothing behind " + kind);
    }
    return text.substring(kind.length());
  }

  private static Address webSocket(String text, int begin, int usualPort) {
    int end = begin;
    while (end < text.length() && "/?#".indexOf(text.charAt(end)) < 0) {
      end++;
    }
    String authority = text.substring(begin, end);
    boolean portGiven = authority.lastIndexOf(':') > authority.lastIndexOf(']');
    String wanted = "target \"" + text + "\": want ws://HOST:PORT/PATH";
    boolean odd = text.chars().anyMatch(c -> c <= ' ' || c == 0x7f || c == '#');
    if (odd || authority.contains("@")) {
      throw new IllegalArgumentException(wanted);
    }
    try {
      Address place = hostAndPort(portGiven ? authority : authority + ":" + usualPort, 1);
      if (place.host.isEmpty()) {
        throw new Fault("there is no host");
      }
      return new Address(place.host, place.port, "", text, "");
    } catch (Fault fault) {
      throw new IllegalArgumentException(wanted + ": " + fault.getMessage());
    }
  }

  /** Reads HOST:PORT, where HOST may be empty and PORT is {@code least} at least. */
  private static Address hostAndPort(String text, int least) throws Fault {
    Matcher found = HOST_PORT.matcher(text);
    if (!found.matches() || found.group("port").startsWith("//")) {
      throw new Fault(whyNoHostAndPort(text));
    }
    String port = found.group("port");
    if (digits(port) && port.length() <= 5) {
      int number = Integer.parseInt(port);
      if (number >= least && number <= 65_535) {
        String six = found.group("six");
        return tcp(six != null ? six : found.group("host"), number);
      }
    }
    if (port.contains("/")) {
      String bare = text.substring(0, text.indexOf('/'));
      throw new Fault("there is a path behind the port; without it, it is " + bare);
    }
    throw new Fault("a port is a number from " + least + " to 65535, not \"" + port + "\"");
  }

  /** What is wrong with what is not HOST:PORT, and what would be right where that is clear. */
  private static String whyNoHostAndPort(String text) {
    if (text.isEmpty()) {
      return "it is empty";
    }
    int scheme = text.indexOf("://");
    if (scheme >= 0) {
      return whyNoUrl(text.substring(0, scheme), text.substring(scheme + 3));
    }
    if (text.charAt(0) == '/' || text.charAt(0) == '.') {
      return "it is a path; a Unix socket there is unix:" + text;
    }
    if (text.contains(",")) {
      return "there is a comma in it; each address is given by itself";
    }
    if (text.chars().anyMatch(Character::isWhitespace)) {
      return "there is a blank in it";
    }
    if (digits(text) && text.length() <= 5 && Integer.parseInt(text) <= 65_535) {
      return "it has no host; that port on this machine is localhost:" + text;
    }
    int last = text.lastIndexOf(':');
    if (text.indexOf(':') < last && isIp(text.substring(0, last))) {
      String six = text.substring(0, last);
      String port = text.substring(last + 1);
      return "an address of IPv6 stands in brackets, such as [" + six + "]:" + port;
    }
    String bare = text.replaceAll("^[\\[\\]]+|[\\[\\]]+$", "");
    if (last < 0 || isIp(bare)) {
      return "it has no port; with one it is, for example, " + tcp(bare, 8080);
    }
    return "it is no address";
  }

  private static String whyNoUrl(String scheme, String rest) {
    int slash = rest.indexOf('/');
    String why = "it is a URL";
    try {
      why += "; as an address it is " + hostAndPort(slash < 0 ? rest : rest.substring(0, slash), 1);
    } catch (Fault fault) {
      // Then nothing better is known.
    }
    return scheme.equals("https") || scheme.equals("grpcs") ? why + ", and TLS is an option" : why;
  }

  private static boolean digits(String text) {
    return !text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9');
  }

  /** Whether a text is an address of IPv4 or IPv6, without brackets. */
  public static boolean isIp(String text) {
    return NetUtil.isValidIpV4Address(text) || NetUtil.isValidIpV6Address(text);
  }

  /** Whether bytes go over TCP, that of a WebSocket included. */
  public boolean isTcp() {
    return path.isEmpty() && name.isEmpty();
  }

  /** The name that a certificate must show there unless something else is wanted. */
  public String serverName() {
    return isTcp() ? host : "localhost";
  }

  /** The same place, at this host. */
  public Address at(String otherHost) {
    return new Address(otherHost, port, path, url, name);
  }

  /** Where the bytes go: the same without the WebSocket that is opened there. */
  public Address bytes() {
    return url.isEmpty() ? this : tcp(host, port);
  }

  /** The form that users write. */
  @Override
  public String toString() {
    if (!path.isEmpty()) {
      return "unix:" + path;
    }
    if (!name.isEmpty()) {
      return "mem:" + name;
    }
    if (!url.isEmpty()) {
      return url;
    }
    return host.indexOf(':') >= 0 ? "[" + host + "]:" + port : host + ":" + port;
  }

  /** What is wrong with an address; the text is for people. */
  private static final class Fault extends Exception {
    Fault(String text) {
      super(text, null, false, false);
    }
  }
}
