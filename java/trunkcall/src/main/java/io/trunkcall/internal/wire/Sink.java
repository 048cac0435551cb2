package io.trunkcall.internal.wire;

/** Takes what a session has to write. */
@FunctionalInterface
public interface Sink {
  /**
   * The next bytes to be written. If {@code lasting}, they never change and may be written from
   * where they lie; else they are to be copied before this function returns. It must not use the
   * session.
   */
  void write(byte[] array, int offset, int length, boolean lasting);
}
