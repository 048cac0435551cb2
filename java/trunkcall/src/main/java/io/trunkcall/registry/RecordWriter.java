package io.trunkcall.registry;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks records, and writes them in the one form that they have (registry.md 2.4). */
final class RecordWriter {
  static final int MOST_RECORD = 16_384; // bytes

  private static final int MOST_ADDRESSES = 16;
  private static final int MOST_ATTRIBUTES = 64;
  private static final int MOST_NAME = 128;
  private static final int MOST_VALUE = 1_024;
  private static final int MOST_SERVER_NAME = 253;
  private static final int MOST_TEXT = 128; // of version and zone
  private static final int MOST_WEIGHT = 1_000_000;

  // As their bytes are, which those of characters beyond 16 bits are not in Java's own order.
  private static final Comparator<String> BY_BYTES =
      (a, b) ->
          Arrays.compareUnsigned(
              a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));

  private RecordWriter() {}

  /** What is wrong with a member of a record (2.5); null if nothing is. */
  static @Nullable String fault(Member member, ServiceRecord of) {
    boolean good =
        switch (member) {
          case ADDRESSES -> areAddresses(of.addresses());
          case ATTRIBUTES -> areAttributes(of.attributes());
          case ID -> Names.isName(of.id(), Names.MOST_ID);
          case SERVER_NAME -> Names.isText(of.serverName(), MOST_SERVER_NAME);
          case SERVICE -> Names.isName(of.service(), Names.MOST_SERVICE);
          case VERSION -> Names.isText(of.version(), MOST_TEXT);
          case WEIGHT -> of.weight() >= 1 && of.weight() <= MOST_WEIGHT;
          case ZONE -> Names.isText(of.zone(), MOST_TEXT);
        };
    if (!good) {
      return member.fault();
    }
    return member == Member.ADDRESSES ? whyNoAddress(of.addresses()) : null;
  }

  private static boolean areAddresses(List<String> given) {
    return !given.isEmpty()
        && given.size() <= MOST_ADDRESSES
        && given.stream().allMatch(one -> !one.isEmpty() && Names.isText(one, Names.MOST_ADDRESS));
  }

  private static @Nullable String whyNoAddress(List<String> given) {
    for (int at = 0; at < given.size(); at++) {
      String why = Names.whyNoAddress(given.get(at));
      if (why != null) {
        return "addresses[" + at + "]: want an address, not \"" + given.get(at) + "\": " + why;
      }
    }
    return null;
  }

  private static boolean areAttributes(Map<String, String> given) {
    return given.size() <= MOST_ATTRIBUTES
        && given.entrySet().stream()
            .allMatch(
                one ->
                    !one.getKey().isEmpty()
                        && Names.isText(one.getKey(), MOST_NAME)
                        && Names.isText(one.getValue(), MOST_VALUE));
  }

  static String tooLong(long bytes) {
    return "record of " + bytes + " bytes, at most " + MOST_RECORD;
  }

  /** The bytes of a record. Throws InvalidRecordException. */
  static byte[] write(ServiceRecord record) {
    for (Member member : Member.values()) {
      String fault = fault(member, record);
      if (fault != null) {
        throw new InvalidRecordException(fault);
      }
    }
    StringBuilder to = new StringBuilder("{\"addresses\":");
    String before = "[";
    for (String address : record.addresses()) {
      text(to.append(before), address);
      before = ",";
    }
    to.append(']');
    if (!record.attributes().isEmpty()) {
      to.append(",\"attributes\":");
      before = "{";
      for (String name : record.attributes().keySet().stream().sorted(BY_BYTES).toList()) {
        text(to.append(before), name);
        text(to.append(':'), record.attributes().getOrDefault(name, ""));
        before = ",";
      }
      to.append('}');
    }
    member(to, Member.ID, record.id());
    member(to, Member.SERVER_NAME, record.serverName());
    member(to, Member.SERVICE, record.service());
    member(to, Member.VERSION, record.version());
    if (record.weight() != 1) {
      to.append(",\"weight\":").append(record.weight());
    }
    member(to, Member.ZONE, record.zone());
    byte[] bytes = to.append('}').toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length > MOST_RECORD) {
      throw new InvalidRecordException(tooLong(bytes.length));
    }
    return bytes;
  }

  private static void member(StringBuilder to, Member member, String text) {
    if (!text.isEmpty()) {
      text(to.append(",\"").append(member.key).append("\":"), text);
    }
  }

  private static void text(StringBuilder to, String text) {
    to.append('"');
    for (int at = 0; at < text.length(); at++) {
      char one = text.charAt(at);
      if (one == '"' || one == '\\') {
        to.append('\\');
      }
      to.append(one);
    }
    to.append('"');
  }
}
