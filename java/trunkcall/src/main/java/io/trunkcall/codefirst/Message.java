package io.trunkcall.codefirst;

/** How messages of one type are written and read, in either codec. */
interface Message<T> {
  void write(ValueWriter w, T message);

  /** Reads a message, and that nothing follows it. */
  T read(ValueReader r);

  /** What to throw for a value at fault that the message itself has not told of. */
  RuntimeException fault(ValueException e);
}
