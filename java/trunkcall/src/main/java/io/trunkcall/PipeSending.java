package io.trunkcall;

import io.trunkcall.internal.wire.LimitException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The sending half of a {@link Pipe}. A message is encoded on the user's thread and handed to the
 * loop, which passes on all that has gathered. The user may go on at once while less than {@link
 * #OUTGOING} bytes are on the way there and the session takes them.
 */
abstract class PipeSending implements MessageStream {
  static final int COST = 64; // of a message, however short

  // Bytes between the user and the session. A thread that sends fast waits once for so many.
  private static final int OUTGOING = 256 << 10;
  private static final CompletableFuture<Boolean> SENT = CompletableFuture.completedFuture(true);

  // All but `outgoing`, `full` and `finished` belongs to the loop.
  private final Handover<Sending> outgoing = new Handover<>();
  private final Runnable pass = this::passAll;
  private @Nullable Sending next; // taken from those, and not passed on
  private @Nullable Sending last; // sent, and the session wants no more behind it
  private @Nullable Runnable behind; // what is to be done behind them
  private boolean blocked;
  private volatile boolean full;
  private volatile boolean finished; // nothing can be sent any more

  /** A message on its way to the session; without bytes the half-close. */
  private static final class Sending extends Handover.Node<Sending> {
    final @Nullable Output bytes;
    final @Nullable Output packed; // the same compressed
    final @Nullable CompletableFuture<Boolean> done;

    Sending(
        @Nullable Output bytes,
        @Nullable Output packed,
        @Nullable CompletableFuture<Boolean> done) {
      super(bytes == null ? 0 : bytes.length() + COST);
      this.bytes = bytes;
      this.packed = packed;
      this.done = done;
    }
  }

  // What the sides differ in. All on the loop, except hand, encoded and packed.

  /** Has work done on the loop. */
  abstract void hand(Runnable work);

  /** Throws StatusException for a message that the codec does not take. */
  abstract Output encoded(Object message);

  /** A message compressed; null if it is to be sent plain. */
  abstract @Nullable Output packed(Output message);

  /** Whether the other side accepts a compression. */
  abstract boolean accepts(int compression);

  /** Gives the session a message. False: wait. */
  abstract boolean pass(Output message, int compression);

  abstract void passHalfClose();

  /** A message was too long for the peer, or what goes ahead of it cannot be sent. */
  abstract void unsendable(RuntimeException error);

  /** What was appended is to be written. */
  abstract void schedule();

  /** Whether nothing can be sent any more. */
  abstract boolean isOver();

  // Any thread.

  @Override
  public CompletableFuture<Boolean> sendAsync(Object message) {
    Output bytes;
    Output packed;
    try {
      bytes = encoded(message);
      packed = packed(bytes);
    } catch (StatusException e) {
      return CompletableFuture.failedFuture(e);
    }
    if (finished) {
      return CompletableFuture.completedFuture(false);
    }
    CompletableFuture<Boolean> done =
        outgoing.size() + bytes.length() > OUTGOING || full ? new CompletableFuture<>() : null;
    send(new Sending(bytes, packed, done));
    return done == null ? SENT : done;
  }

  /** Sends nothing more, behind what is on its way. */
  void halfClose() {
    send(new Sending(null, null, null));
  }

  private void send(Sending sending) {
    if (outgoing.add(sending)) {
      hand(pass);
    }
  }

  /** Passes on what has gathered; what comes meanwhile is for the next time, behind a write. */
  private void passAll() {
    passTaken();
    if (!blocked) {
      next = outgoing.takeAll();
      passTaken();
    }
    if (!blocked && !outgoing.isEmpty()) {
      hand(pass);
    }
    runBehind();
    schedule();
  }

  private void passTaken() {
    for (Sending one = next; one != null && !blocked; one = next) {
      next = one.next;
      one.next = null;
      passOn(one);
    }
  }

  private boolean hasPassedAll() {
    return next == null && outgoing.isEmpty();
  }

  private void runBehind() {
    Runnable rest = behind;
    if (rest != null && hasPassedAll()) {
      behind = null;
      rest.run();
    }
  }

  /**
   * Does something, once all that was sent is with the session, or the call is over. On the loop.
   */
  void behindAll(Runnable work) {
    if (hasPassedAll()) {
      work.run();
    } else {
      behind = work;
    }
  }

  private void passOn(Sending sending) {
    Output bytes = sending.bytes;
    if (isOver()) {
      settle(sending, false);
      return;
    }
    if (bytes == null) {
      passHalfClose();
      return;
    }
    boolean more;
    try {
      Output small = sending.packed;
      more =
          small != null && accepts(small.compression)
              ? pass(small, small.compression)
              : pass(bytes, 0);
    } catch (LimitException | IllegalArgumentException e) {
      unsendable(e);
      settle(sending, false);
      return;
    }
    if (more) {
      settle(sending, true);
    } else {
      last = sending;
      block();
    }
  }

  /** Holds back what is sent, until {@link #writable}. On the loop, or before it knows of this. */
  void block() {
    blocked = true;
    full = true;
  }

  private static void settle(Sending sending, boolean sent) {
    if (sending.done != null) {
      sending.done.complete(sent);
    }
  }

  /** The session takes more. */
  void writable() {
    blocked = false;
    full = false;
    Sending sent = last;
    if (sent != null) {
      last = null;
      settle(sent, !isOver());
    }
    passAll();
  }

  /** Nothing can be sent any more: known before anybody is told how the call ended. */
  void endSending() {
    finished = true;
  }
}
