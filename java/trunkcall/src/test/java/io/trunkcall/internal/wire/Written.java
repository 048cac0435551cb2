package io.trunkcall.internal.wire;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;

/** One frame that a session has written; the payload is what stands behind META, name and total. */
final class Written {
  static final String CONNECTION = "0";
  static final Set<String> OF_THE_SOCKET = Set.of("HALF_CLOSE", "CLOSE");

  final String type;
  String stream = CONNECTION;
  Set<String> flags = Set.of();
  String method = "";
  boolean inline;
  int status;
  int codec;
  int compression;
  long w3;
  long total;
  int length;
  byte[] payload = new byte[0];
  JsonNode metadata;
  String text = "";
  JsonNode details;
  boolean pooled;
  // Of PREFACE.
  int version;
  int highest;
  int window;

  Written(String type) {
    this.type = type;
  }

  /** The name that scripts have for the call of a word. */
  static String stream(int word) {
    return (word < 0 ? "a" : "i") + (word & Frame.SLOT) + "." + ((word & Frame.GENERATION) >> 20);
  }

  /** The name of the call that is so many generations later on its slot. */
  static String later(String stream, int generations) {
    int dot = stream.indexOf('.');
    if (dot < 0) {
      return stream;
    }
    int generation = Integer.parseInt(stream.substring(dot + 1));
    return stream.substring(0, dot + 1) + ((generation + generations - 1) % 2047 + 1);
  }

  @Override
  public String toString() {
    return type + " " + stream + " " + flags + " status " + status + " w3 " + w3 + " " + text;
  }
}
