package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The session program (conformance/peer.md, section 9): one end of a connection without a
 * connection, driven over stdin and stdout. A command is a letter, a length and as many bytes; an
 * answer has no letter.
 */
public final class RandomSession {
  private RandomSession() {}

  /** Carries commands out until there are no more. */
  public static void main(String[] arguments) throws IOException {
    DataInputStream commands = new DataInputStream(new BufferedInputStream(System.in));
    OutputStream answers = new BufferedOutputStream(System.out);
    RandomSide side = null;
    for (int letter = commands.read(); letter >= 0; letter = commands.read()) {
      byte[] body = new byte[Integer.reverseBytes(commands.readInt())];
      commands.readFully(body);
      byte[] answer = new byte[0];
      if (letter == 'S') {
        side = new RandomSide(Vectors.JSON.readTree(body));
      } else if (side == null) {
        throw new EOFException("no session was begun");
      } else {
        answer = command(side, letter, ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN));
      }
      answers.write(
          ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(answer.length).array());
      answers.write(answer);
      answers.flush();
    }
  }

  private static byte[] command(RandomSide side, int letter, ByteBuffer body) {
    switch (letter) {
      case 'R' -> {
        long now = body.getLong();
        int phase = body.get();
        byte[] data = new byte[body.remaining()];
        body.get(data);
        return side.round(now, phase, data);
      }
      case 'E' -> {
        long now = body.getLong();
        side.end(now, body.get() != 0);
        return new byte[0];
      }
      case 'L' -> {
        return side.ledger().toString().getBytes(UTF_8);
      }
      default -> throw new IllegalArgumentException("unknown command " + (char) letter);
    }
  }
}
