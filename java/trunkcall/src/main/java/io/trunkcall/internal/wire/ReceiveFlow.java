package io.trunkcall.internal.wire;

import java.util.ArrayDeque;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of a stream: messages put together, kept until consumed, and the credit owed
 * for them.
 */
final class ReceiveFlow {
  /**
   * Behind "no message" and the like. The usual cause is a streaming method that was called as a
   * unary one, or the other way round.
   */
  static final String ONE_EXPECTED =
      "where one is expected: is the method of another kind, such as streaming?";

  private final long maxMessage;
  private final Share share;
  private final Pool pool;
  long window; // what the peer may still spend
  final long keep; // the window this side keeps: half of it is withheld at most
  private long promised; // bytes counted as promised
  long holds; // bytes that have come and were not consumed
  long order; // a lesser one has held something for longer
  long owed;
  // Owed for pieces once earlier messages are consumed (protocol.md 9.4): of the window, the pool.
  private long withheld;
  private long withheldPool;
  long lies; // charged to the pool and not given back
  long anew; // of that, granted anew
  long lain; // what lay here at the last look
  boolean moved; // something was given back since then
  final ArrayDeque<Message> inbox = new ArrayDeque<>(2);
  int messages; // messages begun
  // The message in progress.
  long total; // 0: none
  long received;
  private byte @Nullable [] whole; // what has come of it
  private boolean lent; // which was used before
  private int codec;
  private int compression;
  long since; // when it began (protocol.md 9.6)
  long creditEnd; // where in the output the last CREDIT ended
  boolean single; // one message is taken: it is owed when it is whole
  boolean dropping; // the handler has returned: what comes is owed at once

  ReceiveFlow(Session session) {
    this.window = this.keep = session.window;
    this.maxMessage = session.own.maxMessage();
    this.share = session.share;
    this.pool = session.pool;
  }

  /**
   * Takes the payload of a frame with MSG; true when a message became whole (protocol.md 4.3, 4.6,
   * 9). A frame with POOL was charged before, and stands in {@code pool.untaken}. {@code legal} and
   * {@code listed} say whether the receiver takes the codec and the compression in {@code w2}.
   */
  boolean accept(
      int w2, long announced, byte[] data, int start, int end, boolean legal, boolean listed)
      throws ConnectionFault, CallFault {
    boolean more = (w2 >> 16 & Frame.MORE) != 0;
    int size = end - start;
    if (total > 0) {
      checkPiece(more, w2, size);
    } else if (more && size > announced) {
      throw new ConnectionFault(
          ErrorClass.PIECE, "a piece of " + size + " bytes, the total is " + announced);
    }
    int cost = 0;
    if (pool.untaken == 0) {
      cost = size + Frame.MESSAGE_COST;
      if (cost > window) {
        throw new ConnectionFault(
            ErrorClass.CREDIT, "a frame that costs " + cost + ", the window holds " + window);
      }
      window -= cost;
    }
    if (total == 0) {
      begin(more, w2, more ? announced : size, legal, listed);
    }
    if (dropping) {
      owed += cost;
      received = more ? received + size : 0;
      total = more ? total : 0;
      return false;
    }
    return keep(more, w2 >>> 28, data, start, size, cost);
  }

  private void checkPiece(boolean more, int w2, int size) throws ConnectionFault {
    if ((w2 >> 24 & 15) != codec || w2 >>> 28 != compression) {
      throw new ConnectionFault(ErrorClass.PIECE, "codec or compression changes within a message");
    }
    long sum = received + size;
    if (sum > total || (sum < total && !more)) {
      throw new ConnectionFault(
          ErrorClass.PIECE, "pieces of " + sum + " bytes, the total is " + total);
    }
  }

  private void begin(boolean more, int w2, long size, boolean legal, boolean listed)
      throws CallFault {
    if (size > maxMessage) {
      throw new CallFault(
          ErrorClass.MESSAGE_SIZE, "a message of " + size + " bytes, max_message is " + maxMessage);
    }
    if (!legal) {
      throw new CallFault(
          ErrorClass.CODEC, "codec " + (w2 >> 24 & 15) + " is not the call's or not known");
    }
    if (!listed) {
      throw new CallFault(ErrorClass.COMPRESSION, "compression " + (w2 >>> 28) + " is not listed");
    }
    if (single && messages > 0) { // ahead of memory: nobody is to make room for it
      throw new CallFault(ErrorClass.MESSAGES, "more than one message " + ONE_EXPECTED);
    }
    messages++;
    if (!dropping) {
      share.promise(size);
      promised += size;
    }
    if (more) {
      total = size;
      codec = w2 >> 24 & 15;
      compression = w2 >>> 28;
      pool.makeWay(size);
    }
  }

  private boolean keep(boolean more, int format, byte[] data, int start, int size, int cost)
      throws CallFault {
    if (holds == 0) {
      order = ++share.order;
    }
    share.hold(size, this);
    holds += size;
    long pooled = pool.untaken;
    pool.untaken = 0;
    lies += pooled;
    if (more) {
      put(data, start, size);
      if (!inbox.isEmpty() || (pooled > 0 && share.exceeded())) {
        withheld += cost;
        withheldPool += pooled;
      } else {
        owed += cost;
        pool.giveBack(this, pooled);
      }
      return false;
    }
    byte[] bytes;
    int length = size;
    long costs = cost;
    if (total > 0) {
      bytes = put(data, start, size);
      length = (int) total;
      settle();
      costs += withheld;
      pooled += withheldPool;
      total = received = withheld = withheldPool = 0;
    } else {
      bytes = Arrays.copyOfRange(data, start, start + size);
    }
    if (single) {
      owed += costs;
      pool.giveBack(this, pooled);
      costs = pooled = 0;
    }
    Message message = new Message(bytes, length, format, true);
    message.cost = costs;
    message.pooled = pooled;
    inbox.add(message);
    return true;
  }

  /** Adds a piece to its message, whose memory grows with what has come of it. */
  private byte[] put(byte[] data, int start, int size) {
    byte[] so = whole;
    int at = (int) received;
    int needed = at + size;
    if (so == null) {
      so = again();
    }
    if (so == null) {
      so = new byte[(int) Math.min(total, Math.max(needed, 2L * size))];
    } else if (so.length < needed) {
      so = Arrays.copyOf(so, (int) Math.min(total, Math.max(needed, 2L * so.length)));
    }
    System.arraycopy(data, start, so, at, size);
    received = needed;
    whole = so;
    return so;
  }

  /** Memory for the message in progress that was used before: none is taken on the peer's word. */
  private byte @Nullable [] again() {
    byte[] one = total < LargeArrays.LEAST ? null : LargeArrays.shared().lend(total);
    lent = one != null;
    return one;
  }

  /** The message in progress is whole, or will not be. */
  private void settle() {
    byte[] so = whole;
    whole = null;
    if (lent && so != null) {
      lent = false;
      LargeArrays.shared().settle(so);
    }
  }

  /** One message is taken, as is known after the first frame. */
  void takeOne() {
    single = true;
    Message message = inbox.peekLast();
    if (message != null) {
      owed += message.cost;
      pool.giveBack(this, message.pooled);
      message.cost = message.pooled = 0;
    }
  }

  /** How many whole messages wait. */
  int waiting() {
    return inbox.size();
  }

  /** Consumes the oldest message, which is held until it is let go; null if there is none. */
  @Nullable Message take() {
    Message message = inbox.poll();
    if (message == null) {
      return null;
    }
    owed += message.cost;
    long pooled = message.pooled;
    if (inbox.isEmpty()) {
      owed += withheld;
      pooled += withheldPool;
      withheld = withheldPool = 0;
    }
    if (pooled > 0) {
      pool.giveBack(this, pooled);
    }
    return message;
  }

  /** Bytes of messages that were consumed are held no more. */
  void received(long bytes) {
    release(Math.min(bytes, holds)); // all was dropped, perhaps, and no longer counts
  }

  /** The message that came with the end of the call, which nobody is owed anything for. */
  void dropLast() {
    Message message = inbox.pollLast();
    if (message != null) {
      release(message.length());
    }
  }

  private void release(long size) {
    share.promised -= size;
    promised -= size;
    holds -= size;
    share.letGo(size);
  }

  /** Lets go of a message that will not be whole. */
  void dropUnfinished() {
    if (total > 0 && !dropping) {
      share.promised -= total;
      promised -= total;
      holds -= received;
      share.letGo(received);
    }
    settle();
    total = received = 0;
  }

  /** Drops all messages, and owes at once for those that come (protocol.md 9.4, 7.3). */
  void dropAll() {
    owed += withheld;
    for (Message message : inbox) {
      owed += message.cost;
    }
    withheld = withheldPool = 0;
    inbox.clear();
    settle();
    share.promised -= promised;
    share.letGo(holds);
    promised = holds = 0;
    dropping = true;
    close();
  }

  /** The call is over: all that lies here is owed to the pool, consumed or not. */
  void close() {
    if (lies > 0) {
      pool.giveBack(this, lies);
    }
  }

  /** Whether what is owed must be sent: at least half of the window kept (protocol.md 9.4). */
  boolean due() {
    return owed * 2 >= keep;
  }
}
