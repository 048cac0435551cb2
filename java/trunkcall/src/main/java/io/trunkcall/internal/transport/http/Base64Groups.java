package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.trunkcall.Code;
import java.nio.ByteBuffer;
import java.util.Base64;

/** Decodes base64 that may be padded anywhere, as it is where pieces were encoded one by one. */
final class Base64Groups {
  private static final int GROUP = 4;

  private final byte[] left = new byte[GROUP];
  private int count;

  /** Decodes the groups that have come whole. */
  ByteBuf decode(ByteBuf in) throws Refusal {
    byte[] all = new byte[count + in.readableBytes()];
    System.arraycopy(left, 0, all, 0, count);
    in.readBytes(all, count, all.length - count);
    int whole = all.length / GROUP * GROUP;
    count = all.length - whole;
    System.arraycopy(all, whole, left, 0, count);
    ByteBuf out = Unpooled.buffer(whole / GROUP * 3);
    int at = 0;
    while (at < whole) {
      int end = at + GROUP;
      while (end < whole && all[end - 1] != '=') {
        end += GROUP;
      }
      try {
        out.writeBytes(Base64.getDecoder().decode(ByteBuffer.wrap(all, at, end - at)));
      } catch (IllegalArgumentException malformed) {
        out.release();
        throw new Refusal(Code.INVALID_ARGUMENT, "the body is not base64");
      }
      at = end;
    }
    return out;
  }

  void end() throws Refusal {
    if (count > 0) {
      throw new Refusal(Code.INVALID_ARGUMENT, "the body ends within a group of base64");
    }
  }
}
