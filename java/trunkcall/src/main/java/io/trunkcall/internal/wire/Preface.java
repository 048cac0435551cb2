package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

/** The preface (protocol.md 2.1): its 16 fixed bytes. */
public final class Preface {
  /** Its length without the settings. */
  public static final int SIZE = 16;

  /** The initial window of a stream unless a preface says more. */
  public static final int INITIAL_WINDOW = 262_144;

  static final int VERSION = 1;
  private static final int MAGIC = 0x314B54F5; // F5 54 4B 31
  private static final int MAX_SETTINGS = 16_384;

  final int version;
  final int highest;
  final int window;
  final int settingsLength;

  private Preface(int version, int highest, int window, int settingsLength) {
    this.version = version;
    this.highest = highest;
    this.window = window;
    this.settingsLength = settingsLength;
  }

  /** The first four bytes of a native connection. */
  public static byte[] magic() {
    return new byte[] {(byte) 0xF5, 'T', 'K', '1'};
  }

  /**
   * What an acceptor says to an initiator whose calls it will not start: preface and GOAWAY with
   * reason 5 (protocol.md 11.3).
   */
  public static byte[] notServed(String text) {
    byte[] said = text.getBytes(UTF_8);
    int size = StatusPayload.boundary(said, Math.min(said.length, Body.MAX_TEXT));
    return new ByteBuilder()
        .bytes(write(Settings.DEFAULTS, INITIAL_WINDOW))
        .u32((long) Frame.GOAWAY << 24 | size)
        .u32(0)
        .u32(0)
        .u32(Frame.NOT_SERVED)
        .bytes(said, size)
        .build();
  }

  /** Whether this implementation speaks the version that it names (protocol.md 2.2). */
  boolean spoken() {
    return version == VERSION;
  }

  /**
   * Checks those of the 16 bytes that have arrived. The version and the length are checked once all
   * are there.
   */
  static void check(byte[] data, int offset, int length) throws ConnectionFault {
    for (int i = 0; i < Math.min(length, 4); i++) {
      if (data[offset + i] != (byte) (MAGIC >> (8 * i))) {
        throw fault(stranger(data, offset, length));
      }
    }
    int version = length > 4 ? data[offset + 4] & 0xFF : VERSION;
    if (version == 0) {
      throw fault("version 0");
    }
    int highest = length > 5 ? data[offset + 5] & 0xFF : version;
    if (highest < version) {
      throw fault("highest version " + highest + " below version " + version);
    }
    if (length >= 12 && version == VERSION) {
      int window = Frame.word(data, offset + 8);
      if (window < INITIAL_WINDOW) { // as a signed number: above 2^31 - 1 as well
        throw fault("initial stream window of " + Integer.toUnsignedString(window));
      }
    }
  }

  private static ConnectionFault fault(String text) {
    return new ConnectionFault(ErrorClass.PREFACE, text);
  }

  /** What speaks instead of Trunkcall, by its first bytes, and what to do. */
  private static String stranger(byte[] data, int offset, int length) {
    String start = new String(data, offset, Math.min(length, 24), ISO_8859_1);
    if (start.startsWith("HTTP/")) {
      return "it speaks HTTP/1.1: call it with a client of HTTP, or, if a Trunkcall server is behind"
          + " it, by ws://HOST:PORT/PATH";
    }
    // The header of a frame of SETTINGS, which HTTP/2 begins with (RFC 9113 6.5).
    boolean http2 =
        start.length() >= 9
            && start.charAt(3) == 4
            && start.charAt(4) <= 1
            && start.startsWith("\0\0\0\0", 5);
    if (http2) {
      return "it speaks HTTP/2, as servers of gRPC do: call it with a client of gRPC, or dial the"
          + " port of a Trunkcall server";
    }
    if (start.startsWith("\u0015\u0003")) { // an alert (RFC 8446 5.1)
      return "it speaks TLS: dial it with TLS";
    }
    StringBuilder spelled = new StringBuilder();
    for (int i = 0; i < start.length(); i++) {
      char c = start.charAt(i);
      if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
        spelled.append(c);
      } else {
        spelled.append(String.format("\\x%02x", (int) c));
      }
    }
    return "its first bytes are \"" + spelled + "\"";
  }

  /**
   * The preface whose 16 fixed bytes are at {@code offset}. A version that is not spoken is not
   * judged further: see {@link #spoken}.
   */
  static Preface read(byte[] data, int offset) throws ConnectionFault {
    check(data, offset, SIZE);
    int length = Frame.word(data, offset + 12);
    Preface preface =
        new Preface(
            data[offset + 4] & 0xFF, data[offset + 5] & 0xFF, Frame.word(data, offset + 8), length);
    if (preface.spoken() && (length < 0 || length > MAX_SETTINGS)) {
      throw fault(Integer.toUnsignedString(length) + " bytes of settings");
    }
    return preface;
  }

  /** A preface with its settings. */
  static byte[] write(Settings settings, int window) {
    return write(settings, window, VERSION);
  }

  static byte[] write(Settings settings, int window, int highest) {
    byte[] entries = SettingsEntries.write(settings);
    return new ByteBuilder()
        .u32(MAGIC)
        .octet(VERSION)
        .octet(highest)
        .u16(0)
        .u32(window)
        .u32(entries.length)
        .bytes(entries)
        .build();
  }
}
