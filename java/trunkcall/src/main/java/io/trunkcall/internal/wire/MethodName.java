package io.trunkcall.internal.wire;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The name of a method, as calls are opened by it. Make one for each method and keep it: a session
 * finds the id of a name that it has met by the index of this object, without hashing.
 */
public final class MethodName {
  private static final AtomicInteger LAST = new AtomicInteger();

  private final String text;
  final byte[] bytes;
  final int index = LAST.getAndIncrement();

  /** The name {@code text}, such as {@code /package.Service/Method}. */
  public MethodName(String text) {
    this.text = text;
    this.bytes = text.getBytes(StandardCharsets.UTF_8);
  }

  /** The name. */
  public String text() {
    return text;
  }

  @Override
  public String toString() {
    return text;
  }
}
