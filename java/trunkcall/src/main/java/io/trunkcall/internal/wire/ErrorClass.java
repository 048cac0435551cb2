package io.trunkcall.internal.wire;

/** The classes of what can be wrong with received bytes (protocol.md 15). */
public enum ErrorClass {
  PREFACE("preface"),
  VERSION("version"),
  SETTING("setting"),
  TYPE("type"),
  LENGTH("length"),
  FLAGS("flags"),
  RESERVED("reserved"),
  STREAM_ID("stream_id"),
  VALUE("value"),
  DIRECTION("direction"),
  STATE("state"),
  METHOD("method"),
  PIECE("piece"),
  CREDIT("credit"),
  FLOOD("flood"),
  SILENT("silent"),
  INTERNAL("internal"),

  // These end one call.
  METADATA("metadata"),
  METADATA_LIMIT("metadata_limit"),
  NAME("name"),
  UNKNOWN_METHOD("unknown_method"),
  MESSAGE_SIZE("message_size"),
  CODEC("codec"),
  COMPRESSION("compression"),
  MESSAGES("messages"),
  STATUS("status"),
  /** There is no memory for a message (protocol.md 9.6). */
  MEMORY("memory");

  private final String word;

  ErrorClass(String word) {
    this.word = word;
  }

  /** The word of the specification. */
  public String word() {
    return word;
  }
}
