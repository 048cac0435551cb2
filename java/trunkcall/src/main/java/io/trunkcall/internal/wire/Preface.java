package io.trunkcall.internal.wire;

/** The preface (protocol.md 2.1): its 16 fixed bytes. */
public final class Preface {
  /** Its length without the settings. */
  public static final int SIZE = 16;

  /** The initial window of a stream unless a preface says more. */
  public static final int INITIAL_WINDOW = 262_144;

  private Preface() {}

  /** The first four bytes of a native connection. */
  public static byte[] magic() {
    return new byte[] {(byte) 0xF5, 'T', 'K', '1'};
  }

  /**
   * What an acceptor says to an initiator whose calls it will not start: preface and GOAWAY with
   * reason 5 (protocol.md 11.3).
   */
  public static byte[] notServed(String text) {
    throw new UnsupportedOperationException();
  }
}
