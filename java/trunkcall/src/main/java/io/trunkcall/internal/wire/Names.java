package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The names that the peer has defined (protocol.md 8), and the methods served under them. */
final class Names {
  private final MethodTable served;
  private byte[] @Nullable [] names = new byte[0][];
  private @Nullable ServedMethod[] methods = new ServedMethod[0]; // those that were found

  Names(MethodTable served) {
    this.served = served;
  }

  /** Binds an id, unless it is bound. */
  boolean define(int id, byte[] name) {
    if (id >= names.length) {
      int size = Math.max(id + 1, 2 * names.length);
      names = Arrays.copyOf(names, size);
      methods = Arrays.copyOf(methods, size);
    }
    if (names[id] != null) {
      return false;
    }
    names[id] = name;
    methods[id] = find(name);
    return true;
  }

  /** The name of an id, null if it is not defined. */
  byte @Nullable [] name(int id) {
    return id < names.length ? names[id] : null;
  }

  /** The method of an id, null if it is not defined, or was not served when it was. */
  @Nullable ServedMethod known(int id) {
    return id < methods.length ? methods[id] : null;
  }

  /** The method of an id, which has this name; null if it is not served. */
  @Nullable ServedMethod find(int id, byte[] name) {
    ServedMethod method = known(id);
    if (method == null && id < methods.length) {
      method = methods[id] = find(name);
    }
    return method;
  }

  /** The method of a name, null if it is not served. */
  @Nullable ServedMethod find(byte[] name) {
    ServedMethod method = served.find(new String(name, UTF_8));
    return method != null && Arrays.equals(method.bytes, name) ? method : null;
  }
}
