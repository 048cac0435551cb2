package io.trunkcall.internal.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The frame header (protocol.md 3): its numbers and its checks. */
final class Frame {
  static final int HEADER = 16;

  static final int DEFINE = 1;
  static final int CALL = 2;
  static final int DATA = 3;
  static final int RESULT = 4;
  static final int CREDIT = 5;
  static final int CANCEL = 6;
  static final int PING = 7;
  static final int GOAWAY = 8;

  static final int END = 0x01;
  static final int ACK = 0x01;
  static final int MSG = 0x02;
  static final int MORE = 0x04;
  static final int META = 0x08;
  static final int ONEWAY = 0x10;
  static final int REFUSED = 0x10;
  static final int POOL = 0x10;
  static final int CUT = 0x20;
  static final int STRIPPED = 0x40;

  static final int MAX_WINDOW = 0x7FFFFFFF;
  static final int SLOT = 0xFFFFF;
  static final int GENERATION = 0x7FF00000;
  static final int INITIATOR_BIT = 0x80000000;
  static final int FIRST_GENERATION = 1 << 20;

  /** The least body of a piece with MORE (protocol.md 4.3). */
  static final int PIECE_FLOOR = 65_536;

  /** What a message costs besides its payload (protocol.md 9.1). */
  static final int MESSAGE_COST = 16;

  // Reasons of GOAWAY (protocol.md 11.3). Those of CANCEL are in Session.
  static final int DRAINING = 0;
  static final int PROTOCOL_ERROR = 1;
  static final int RESOURCE_LIMIT = 2;
  static final int PEER_SILENT = 3;
  static final int INTERNAL_ERROR = 4;
  static final int NOT_SERVED = 5;

  private static final String[] NAMES = {
    "", "DEFINE", "CALL", "DATA", "RESULT", "CREDIT", "CANCEL", "PING", "GOAWAY"
  };

  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  // By type and flags: whether protocol.md 3.4 allows them. Index 0 is RESULT with a status other
  // than 0.
  private static final boolean[][] ALLOWED = new boolean[9][256];

  static {
    allow(DEFINE, 0, 0);
    allow(CALL, META, 0, END, MSG, MSG | END, MSG | MORE, ONEWAY | MSG | END, ONEWAY | MSG | MORE);
    allow(DATA, 0, 0, END, META);
    allow(DATA, POOL, MSG, MSG | END, MSG | MORE, META | MSG, META | MSG | MORE);
    allow(RESULT, META | STRIPPED, 0, MSG);
    allow(0, META | STRIPPED, 0, REFUSED, CUT);
    allow(CREDIT, 0, 0);
    allow(CANCEL, 0, 0);
    allow(PING, 0, 0, ACK);
    allow(GOAWAY, 0, 0, ACK);
  }

  // By type: what is to be zero in w1, in w2, in w2 when MSG is not set, in w3 (protocol.md 3.5).
  private static final int LOW = 0xFFFF;
  private static final int COMPRESSION = 0xF0000000;
  private static final int NUMBERS = 0xFF000000;
  private static final int[][] RESERVED = {
    {0, 0, 0, 0},
    {-1, NUMBERS, 0, -1},
    {0, 0, COMPRESSION, 0},
    {0, LOW, NUMBERS, -1},
    {0, 0, NUMBERS, 0},
    {0, LOW | NUMBERS, 0, 0},
    {0, LOW | NUMBERS, 0, 0},
    {-1, LOW | NUMBERS, 0, 0},
    {-1, LOW | NUMBERS, 0, 0},
  };

  private Frame() {}

  /** Allows each of {@code sets}, with any of the flags in {@code free} added. */
  private static void allow(int type, int free, int... sets) {
    for (int set : sets) {
      for (int more = free; ; more = more - 1 & free) {
        ALLOWED[type][set | more] = true;
        if (more == 0) {
          break;
        }
      }
    }
  }

  /** The word at an offset. */
  static int word(byte[] array, int at) {
    return (int) WORDS.get(array, at);
  }

  /** Writes a word at an offset. */
  static void setWord(byte[] array, int at, int word) {
    WORDS.set(array, at, word);
  }

  /** The name of a type from 1 to 8. */
  static String name(int type) {
    return NAMES[type];
  }

  /** The word of the next call on the same slot (protocol.md 7.1). */
  static int nextGeneration(int w1) {
    return (w1 & GENERATION) == GENERATION
        ? (w1 & ~GENERATION) | FIRST_GENERATION
        : w1 + FIRST_GENERATION;
  }

  /**
   * Makes every check of protocol.md 3 in the order of 3.9. {@code ownBit} is the initiator bit of
   * the calls that the receiver opens, the limits are the receiver's. A header of an unknown type
   * from 0x80 up passes when its length does.
   */
  static void check(int w0, int w1, int w2, int w3, int ownBit, int maxBody, int maxMethods)
      throws ConnectionFault {
    int type = w0 >>> 24;
    int length = w0 & 0xFFFFFF;
    if (type == 0 || (type > GOAWAY && type < 0x80)) {
      throw new ConnectionFault(ErrorClass.TYPE, "frame type " + type + " is undefined");
    }
    if (length > maxBody) {
      throw new ConnectionFault(
          ErrorClass.LENGTH, "body of " + length + " bytes, max_frame_body is " + maxBody);
    }
    if (type >= 0x80) {
      return;
    }
    int flags = w2 >> 16 & 0xFF;
    if (!ALLOWED[type == RESULT && (w2 & LOW) != 0 ? 0 : type][flags]) {
      throw new ConnectionFault(
          ErrorClass.FLAGS, "flags 0x" + Integer.toHexString(flags) + " on " + NAMES[type]);
    }
    int[] zero = RESERVED[type];
    int zero2 = (flags & MSG) == 0 ? zero[1] | zero[2] : zero[1];
    if (((w1 & zero[0]) | (w2 & zero2) | (w3 & zero[3])) != 0) {
      throw new ConnectionFault(
          ErrorClass.RESERVED, "a reserved field of " + NAMES[type] + " is not zero");
    }
    boolean ofStream = type >= CALL && type <= CANCEL && (w1 != 0 || type != CREDIT);
    if (ofStream && ((w1 & SLOT) == 0 || (w1 & GENERATION) == 0)) {
      throw new ConnectionFault(
          ErrorClass.STREAM_ID,
          NAMES[type] + " on slot " + (w1 & SLOT) + ", generation " + ((w1 & GENERATION) >> 20));
    }
    checkValue(type, w2 & LOW, w3, maxMethods);
    checkDirection(type, flags, (w1 & INITIATOR_BIT) == ownBit);
  }

  private static void checkValue(int type, int low, int w3, int maxMethods) throws ConnectionFault {
    if (type == RESULT && low > 16) {
      throw new ConnectionFault(ErrorClass.VALUE, "status " + low);
    }
    if (type == CREDIT && w3 <= 0) {
      throw new ConnectionFault(ErrorClass.VALUE, "CREDIT of " + Integer.toUnsignedString(w3));
    }
    if (type == DEFINE && (low < 1 || low > maxMethods)) {
      throw new ConnectionFault(
          ErrorClass.METHOD, "DEFINE of id " + low + ", max_methods is " + maxMethods);
    }
  }

  private static void checkDirection(int type, int flags, boolean fromCallee)
      throws ConnectionFault {
    boolean wrong;
    if (type == CALL || type == CANCEL || (type == DATA && (flags & END) != 0)) {
      wrong = fromCallee;
    } else if (type == RESULT || (type == DATA && (flags & META) != 0)) {
      wrong = !fromCallee;
    } else {
      return;
    }
    if (wrong) {
      throw new ConnectionFault(
          ErrorClass.DIRECTION, NAMES[type] + " from the " + (fromCallee ? "callee" : "caller"));
    }
  }
}
