package io.trunkcall.internal.wire;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A method that is served. */
public final class ServedMethod {
  private final String name;
  final byte[] bytes;
  final boolean takesOne;
  private final @Nullable Object target;

  /**
   * The method called {@code name}. If {@code takesOne}, it takes exactly one message and starts
   * when that is whole (protocol.md 7.4). {@code target} belongs to the one who serves it.
   */
  public ServedMethod(String name, boolean takesOne, @Nullable Object target) {
    this.name = name;
    this.bytes = name.getBytes(StandardCharsets.UTF_8);
    this.takesOne = takesOne;
    this.target = target;
  }

  /** Its name. */
  public String name() {
    return name;
  }

  /** Whether it takes exactly one message. */
  public boolean takesOne() {
    return takesOne;
  }

  /** What belongs to the one who serves it. */
  public @Nullable Object target() {
    return target;
  }
}
