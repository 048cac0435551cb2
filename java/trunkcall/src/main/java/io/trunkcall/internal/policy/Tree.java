package io.trunkcall.internal.policy;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;

/** Makes a tree of a file (policy.md 2). */
final class Tree {
  static final int LONGEST_FILE = 1 << 20;
  static final int DEEPEST = 16;

  private Tree() {}

  static Node read(byte[] data) throws BadFileException {
    String text = lookOver(data);
    for (int at = 0; at < text.length(); at++) {
      char c = text.charAt(at);
      if (c == '[') {
        throw new BadFileException(1, "want a mapping, found a list");
      } else if (!Texts.isBlank(c) && c != '\n') {
        return c == '{' ? new JsonForm(text).read() : new YamlForm(text).read();
      }
    }
    throw new BadFileException(1, "the file is empty");
  }

  /** Checks the characters of a file and drops what means nothing. */
  private static String lookOver(byte[] data) throws BadFileException {
    if (data.length > LONGEST_FILE) {
      throw new BadFileException(1, "the file has more than " + LONGEST_FILE + " bytes");
    }
    String text = decoded(data);
    if (text.startsWith("\ufeff")) {
      text = text.substring(1);
    }
    text = text.replace("\r\n", "\n");
    int line = 1;
    for (int at = 0; at < text.length(); at++) {
      char c = text.charAt(at);
      if (c == '\n') {
        line++;
      } else if ((c < ' ' && c != '\t') || c == 0x7F) {
        throw new BadFileException(line, "a control character");
      }
    }
    return text;
  }

  private static String decoded(byte[] data) throws BadFileException {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder(); // which reports what is malformed
    ByteBuffer bytes = ByteBuffer.wrap(data);
    CharBuffer characters = CharBuffer.allocate(data.length);
    if (!decoder.decode(bytes, characters, true).isUnderflow()) {
      int line = 1;
      for (int at = 0; at < bytes.position(); at++) {
        line += data[at] == '\n' ? 1 : 0;
      }
      throw new BadFileException(line, "not UTF-8");
    }
    return characters.flip().toString();
  }
}
