package io.trunkcall.load;

/** A host and a port. */
public record Address(String host, int port) {
  /** Reads HOST:PORT; an IPv6 address stands in brackets. */
  public static Address parse(String flag, String text) throws UsageError {
    int colon = text.lastIndexOf(':');
    String port = text.substring(colon + 1);
    if (colon > 0 && port.matches("\\d{1,5}") && Integer.parseInt(port) <= 65535) {
      String host = text.substring(0, colon);
      if (host.startsWith("[") && host.endsWith("]")) {
        host = host.substring(1, host.length() - 1);
      }
      if (!host.isEmpty()) {
        return new Address(host, Integer.parseInt(port));
      }
    }
    throw new UsageError(flag + " " + text + ": want HOST:PORT");
  }

  /** The same host with another port. */
  public Address at(int otherPort) {
    return new Address(host, otherPort);
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
