package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToLongFunction;

/** The entries of settings in a preface (protocol.md 2.3). */
final class SettingsEntries {
  private static final int CODECS = 7;
  private static final int COMPRESSIONS = 8;
  private static final long U32 = 0xFFFFFFFFL;

  /** A setting that is a number. */
  private record Numeric(String name, long least, long greatest, ToLongFunction<Settings> value) {}

  // By type.
  private static final Map<Integer, Numeric> NUMBERS = new TreeMap<>();

  static {
    NUMBERS.put(1, new Numeric("max_frame_body", 65_536, 16_777_215, Settings::maxFrameBody));
    NUMBERS.put(2, new Numeric("max_message", 1, U32, Settings::maxMessage));
    NUMBERS.put(3, new Numeric("max_calls", 0, 1_048_575, Settings::maxCalls));
    NUMBERS.put(4, new Numeric("max_metadata_bytes", 16_384, U32, Settings::maxMetadataBytes));
    NUMBERS.put(5, new Numeric("max_metadata_entries", 128, U32, Settings::maxMetadataEntries));
    NUMBERS.put(6, new Numeric("max_methods", 4_096, 65_535, Settings::maxMethods));
    NUMBERS.put(9, new Numeric("keepalive_interval", 0, U32, Settings::keepaliveInterval));
    NUMBERS.put(10, new Numeric("min_ping_interval", 0, U32, Settings::minPingInterval));
    NUMBERS.put(11, new Numeric("pool", 0, 0x7FFFFFFF, Settings::pool));
  }

  /** The settings, with defaults for those that were not there. */
  final Settings settings;

  /** The types of the known ones that were there. */
  final Set<Integer> seen;

  private SettingsEntries(Settings settings, Set<Integer> seen) {
    this.settings = settings;
    this.seen = seen;
  }

  /** The name of a known type. */
  static String name(int type) {
    if (type == CODECS) {
      return "codecs";
    }
    if (type == COMPRESSIONS) {
      return "compressions";
    }
    Numeric number = NUMBERS.get(type);
    return number == null ? "0x" + Integer.toHexString(type) : number.name;
  }

  // Reading.

  /** The settings that fill the bytes from {@code start} to {@code end}. */
  static SettingsEntries read(byte[] data, int start, int end) throws ConnectionFault {
    Map<Integer, Long> numbers = new HashMap<>();
    Map<Integer, String> codecs = Map.of();
    Set<Integer> compressions = Set.of();
    Set<Integer> seen = new HashSet<>();
    int at = start;
    while (at < end) {
      if (end - at < 4) {
        throw fault("a setting is cut off");
      }
      int entry = Frame.word(data, at);
      int type = entry & 0xFFFF;
      int length = entry >>> 16;
      at += 4;
      if (length > end - at) {
        throw fault("setting 0x" + Integer.toHexString(type) + " is cut off");
      }
      Numeric number = NUMBERS.get(type);
      if (number != null) {
        numbers.put(type, readNumber(number, data, at, length));
      } else if (type == CODECS) {
        codecs = readCodecs(data, at, at + length);
      } else if (type == COMPRESSIONS) {
        compressions = readCompressions(data, at, at + length);
      } else if ((type & 0x8000) != 0) {
        throw fault("critical setting 0x" + Integer.toHexString(type) + " is unknown");
      }
      at += length;
      boolean known = number != null || type == CODECS || type == COMPRESSIONS;
      if (known && !seen.add(type)) {
        throw fault("setting " + name(type) + " is repeated");
      }
    }
    return new SettingsEntries(settings(numbers, codecs, compressions), seen);
  }

  private static Settings settings(
      Map<Integer, Long> numbers, Map<Integer, String> codecs, Set<Integer> compressions) {
    return new Settings(
        (int) value(numbers, 1),
        value(numbers, 2),
        (int) value(numbers, 3),
        value(numbers, 4),
        value(numbers, 5),
        (int) value(numbers, 6),
        codecs,
        compressions,
        value(numbers, 9),
        value(numbers, 10),
        (int) value(numbers, 11));
  }

  private static long value(Map<Integer, Long> numbers, int type) {
    Long given = numbers.get(type);
    Numeric number = NUMBERS.get(type);
    return given != null || number == null
        ? (given == null ? 0 : given)
        : number.value.applyAsLong(Settings.DEFAULTS);
  }

  private static long readNumber(Numeric number, byte[] data, int at, int length)
      throws ConnectionFault {
    if (length != 4) {
      throw fault("setting " + number.name + " has " + length + " bytes");
    }
    long value = Frame.word(data, at) & U32;
    if (value < number.least || value > number.greatest) {
      throw fault("setting " + number.name + " is " + value + ", not " + range(number));
    }
    return value;
  }

  private static String range(Numeric number) {
    return number.least + " to " + number.greatest;
  }

  private static Map<Integer, String> readCodecs(byte[] data, int start, int end)
      throws ConnectionFault {
    Map<Integer, String> codecs = new HashMap<>();
    int at = start;
    while (at < end) {
      int number = data[at];
      int length = at + 1 < end ? data[at + 1] & 0xFF : 0;
      boolean legal = number >= 8 && number <= 15 && !codecs.containsKey(number);
      if (!legal || length == 0 || length > end - at - 2) {
        throw fault("setting codecs is malformed");
      }
      codecs.put(number, new String(data, at + 2, length, UTF_8));
      at += 2 + length;
    }
    return codecs;
  }

  private static Set<Integer> readCompressions(byte[] data, int start, int end)
      throws ConnectionFault {
    Set<Integer> compressions = new HashSet<>();
    for (int at = start; at < end; at++) {
      int number = data[at];
      if (number < 1 || number > 15) {
        throw fault("setting compressions has a number that is not 1 to 15");
      }
      if (number <= 2) { // those that version 1 knows
        compressions.add(number);
      }
    }
    return compressions;
  }

  private static ConnectionFault fault(String text) {
    return new ConnectionFault(ErrorClass.SETTING, text);
  }

  // Writing.

  /**
   * The entries of all settings that differ from their default.
   *
   * @throws IllegalArgumentException for one out of its range
   */
  static byte[] write(Settings settings) {
    ByteBuilder entries = new ByteBuilder();
    NUMBERS.forEach(
        (type, number) -> {
          long value = number.value.applyAsLong(settings);
          if (value < number.least || value > number.greatest) {
            throw new IllegalArgumentException(
                number.name + " is " + value + ", not " + range(number));
          }
          if (value != number.value.applyAsLong(Settings.DEFAULTS)) {
            entries.u16(type).u16(4).u32(value);
          }
        });
    if (!settings.codecs().isEmpty()) {
      byte[] named = writeCodecs(settings.codecs());
      entries.u16(CODECS).u16(named.length).bytes(named);
    }
    if (!settings.compressions().isEmpty()) {
      entries.u16(COMPRESSIONS).u16(settings.compressions().size());
      new TreeSet<>(settings.compressions()).forEach(entries::octet);
    }
    return entries.build();
  }

  private static byte[] writeCodecs(Map<Integer, String> codecs) {
    ByteBuilder named = new ByteBuilder();
    new TreeMap<>(codecs)
        .forEach(
            (number, name) -> {
              byte[] bytes = name.getBytes(UTF_8);
              // Names that are not text are read with U+FFFD in them: none of this side's equals.
              boolean legal = number >= 8 && number <= 15 && name.indexOf('\uFFFD') < 0;
              if (!legal || bytes.length < 1 || bytes.length > 255) {
                throw new IllegalArgumentException(
                    "codec "
                        + number
                        + " \""
                        + name
                        + "\": numbers are 8 to 15, names 1 to 255 bytes");
              }
              named.octet(number).octet(bytes.length).bytes(bytes);
            });
    return named.build();
  }
}
