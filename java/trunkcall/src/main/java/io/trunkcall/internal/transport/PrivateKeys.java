package io.trunkcall.internal.transport;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Private keys in the forms that tools write: PKCS #8, which the JDK reads, and the older ones of
 * EC (SEC 1, RFC 5915) and RSA (PKCS #1), which are wrapped into it.
 */
final class PrivateKeys {
  private static final Pattern OLDER =
      Pattern.compile("-----BEGIN (EC|RSA) PRIVATE KEY-----([^-]*)-----END \\1 PRIVATE KEY-----");
  private static final byte[] VERSION = {2, 1, 0};
  private static final byte[] EC = {6, 7, 0x2A, (byte) 0x86, 0x48, (byte) 0xCE, 0x3D, 2, 1};
  private static final byte[] RSA = {
    6, 9, 0x2A, (byte) 0x86, 0x48, (byte) 0x86, (byte) 0xF7, 0x0D, 1, 1, 1, 5, 0
  };

  private static final int SEQUENCE = 0x30;
  private static final int OCTETS = 4;
  private static final int PARAMETERS = 0xA0;

  private PrivateKeys() {}

  /** The file with its key in PKCS #8, PEM. */
  static InputStream read(Path file) throws IOException {
    String text = Files.readString(file, StandardCharsets.ISO_8859_1);
    Matcher older = OLDER.matcher(text);
    if (older.find() && !text.contains("ENCRYPTED")) {
      try {
        byte[] key = Base64.getMimeDecoder().decode(older.group(2));
        boolean ec = older.group(1).equals("EC");
        byte[] algorithm = element(SEQUENCE, ec ? joined(EC, curve(key)) : RSA);
        byte[] wrapped = element(SEQUENCE, joined(VERSION, algorithm, element(OCTETS, key)));
        text =
            "-----BEGIN PRIVATE KEY-----\n"
                + Base64.getMimeEncoder().encodeToString(wrapped)
                + "\n-----END PRIVATE KEY-----\n";
      } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
        throw new IOException(file + ": the key is malformed", e);
      }
    }
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** The curve's name: the parameters among the elements of a key of SEC 1. */
  private static byte[] curve(byte[] key) {
    int at = begin(key, 0);
    while ((key[at] & 0xFF) != PARAMETERS) {
      at = begin(key, at) + length(key, at);
    }
    int begin = begin(key, at);
    return Arrays.copyOfRange(key, begin, begin + length(key, at));
  }

  /** Where the contents of the element at {@code at} begin. */
  private static int begin(byte[] der, int at) {
    int first = der[at + 1] & 0xFF;
    return at + 2 + (first < 0x80 ? 0 : first & 0x7F);
  }

  private static int length(byte[] der, int at) {
    int first = der[at + 1] & 0xFF;
    if (first < 0x80) {
      return first;
    }
    int length = 0;
    for (int i = 0; i < (first & 0x7F); i++) {
      length = length << 8 | (der[at + 2 + i] & 0xFF);
    }
    return length;
  }

  private static byte[] element(int tag, byte[] contents) {
    int size = contents.length;
    byte[] head;
    if (size < 0x80) {
      head = new byte[] {(byte) tag, (byte) size};
    } else if (size < 0x100) {
      head = new byte[] {(byte) tag, (byte) 0x81, (byte) size};
    } else {
      head = new byte[] {(byte) tag, (byte) 0x82, (byte) (size >> 8), (byte) size};
    }
    return joined(head, contents);
  }

  private static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      whole.writeBytes(part);
    }
    return whole.toByteArray();
  }
}
