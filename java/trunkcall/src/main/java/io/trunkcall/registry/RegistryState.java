package io.trunkcall.registry;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What a registry knew before a restart (registry.md 9.6).
 *
 * @param fault what is wrong with the file, LINE: TEXT, behind the records; empty if nothing is
 * @param there whether there is a file
 */
record RegistryState(List<Written> records, String fault, boolean there) {
  private static final String FIRST = "trunkcall registry 1";
  private static final byte[] END = "end ".getBytes(StandardCharsets.UTF_8);

  // More than the file of a full registry has.
  private static final int LARGEST = (64 << 20) + 100_000 + 1_024;

  /** Reads a record that is one line. Throws InvalidRecordException. */
  static Written line(byte[] data) {
    if (data.length <= RecordWriter.MOST_RECORD) {
      for (byte one : data) {
        if (one >= 0 && one < ' ') {
          throw new InvalidRecordException("want no control characters");
        }
      }
    }
    return new Written(ServiceRecord.parse(data), data);
  }

  /** The file of records, which are in the order of their keys. */
  static byte[] write(List<byte[]> records) {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    to.writeBytes((FIRST + "\n").getBytes(StandardCharsets.UTF_8));
    for (byte[] one : records) {
      to.writeBytes(one);
      to.write('\n');
    }
    to.writeBytes(("end " + records.size() + "\n").getBytes(StandardCharsets.UTF_8));
    return to.toByteArray();
  }

  /** Reads a file, as far as it is good. Throws IOException where the system does not let it. */
  static RegistryState read(Path path) throws IOException {
    try {
      if (!FileState.of(path).regular()) {
        throw new IOException(path + ": want a file, not a folder or the like");
      }
    } catch (NoSuchFileException none) {
      return new RegistryState(List.of(), "", false);
    }
    return parse(FileState.read(path, LARGEST));
  }

  static RegistryState parse(byte[] data) {
    List<Written> records = new ArrayList<>();
    Set<String> keys = new HashSet<>();
    String fault = "";
    int from = 0;
    for (int number = 1; fault.isEmpty(); number++) {
      int end = from;
      while (end < data.length && data[end] != '\n') {
        end++;
      }
      boolean whole = end < data.length;
      byte[] line = Arrays.copyOfRange(data, from, end);
      from = end + 1;
      if (number == 1) {
        boolean first = whole && Arrays.equals(line, FIRST.getBytes(StandardCharsets.UTF_8));
        fault = first ? "" : "1: want \"" + FIRST + "\"";
      } else if (!whole) {
        fault = number + ": want a record or \"end " + records.size() + "\"";
      } else if (isEnd(line)) {
        fault = whyNoEnd(line, number, records.size(), from < data.length);
        break;
      } else {
        fault = record(line, number, records, keys);
      }
    }
    return new RegistryState(records, fault, true);
  }

  private static boolean isEnd(byte[] line) {
    return line.length >= END.length && Arrays.equals(line, 0, END.length, END, 0, END.length);
  }

  private static String whyNoEnd(byte[] line, int number, int records, boolean more) {
    String end = "end " + records;
    if (!Arrays.equals(line, end.getBytes(StandardCharsets.UTF_8))) {
      return number + ": want \"" + end + "\"";
    }
    return more ? number + 1 + ": want nothing behind the end" : "";
  }

  private static String record(byte[] line, int number, List<Written> records, Set<String> keys) {
    try {
      Written one = line(line);
      if (!keys.add(one.toString())) {
        return number + ": " + one + " is there twice";
      }
      records.add(one);
      return "";
    } catch (InvalidRecordException invalid) {
      return number + ": " + invalid.getMessage();
    }
  }
}
