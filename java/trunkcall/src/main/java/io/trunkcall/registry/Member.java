package io.trunkcall.registry;

import org.jspecify.annotations.Nullable;

/**
 * The members of a record, in the order of registry.md 2.1, which is that in which faults are told.
 */
enum Member {
  ADDRESSES("addresses", "1 to 16 addresses of at most 255 bytes"),
  ATTRIBUTES(
      "attributes",
      "at most 64 texts of at most 1024 bytes with names of 1 to 128 bytes, without control"
          + " characters"),
  ID("id", "a name of 1 to 128 letters, digits, \".\", \"_\" or \"-\""),
  SERVER_NAME("server_name", "a text of at most 253 bytes without control characters"),
  SERVICE("service", "a name of 1 to 200 letters, digits, \".\", \"_\" or \"-\""),
  VERSION("version", "a text of at most 128 bytes without control characters"),
  WEIGHT("weight", "a whole number from 1 to 1000000"),
  ZONE("zone", "a text of at most 128 bytes without control characters");

  final String key;
  private final String want;

  Member(String key, String want) {
    this.key = key;
    this.want = want;
  }

  /** What a record is refused with for this member (2.5). */
  String fault() {
    return key + ": want " + want;
  }

  static @Nullable Member of(String key) {
    for (Member one : values()) {
      if (one.key.equals(key)) {
        return one;
      }
    }
    return null;
  }
}
