package io.trunkcall;

import io.trunkcall.internal.wire.LimitException;
import io.trunkcall.internal.wire.Message;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one call between the thread of a user and the loop that owns the session.
 *
 * <p>Sending: a message is encoded on the user's thread and handed to the loop. The user may go on
 * at once while less than {@link #AHEAD} bytes are on the way there and the session takes them.
 *
 * <p>Receiving: whoever receives has the loop take messages from the session, a few at a time,
 * which counts as consuming them: credit returns as the application asks.
 */
abstract class Pipe implements MessageStream {
  private static final int AHEAD = 64 << 10; // bytes between the user and the session, each way
  private static final int COST = 64; // of a message, however short
  private static final int TAKEN = 32; // messages that are taken at a time
  private static final CompletableFuture<Boolean> SENT = CompletableFuture.completedFuture(true);

  // Sending. `held` and `blocked` belong to the loop.
  private final AtomicInteger onTheWay = new AtomicInteger();
  private final ArrayDeque<Sending> held = new ArrayDeque<>();
  private @Nullable Sending last; // sent, and the session wants no more behind it
  private boolean blocked;
  private volatile boolean full;
  private volatile boolean finished; // nothing can be sent any more

  // Receiving. `wanted` belongs to the loop; `taken` to the loop while somebody waits, else to the
  // one who receives.
  private final ConcurrentLinkedDeque<Got> taken = new ConcurrentLinkedDeque<>();
  private final AtomicReference<@Nullable CompletableFuture<@Nullable Object>> waiter =
      new AtomicReference<>();
  private final AtomicBoolean fetching = new AtomicBoolean();
  private final Runnable fetch = this::fetch;
  private boolean wanted;
  private volatile @Nullable Ending ending;

  /** A message as it came. */
  record Got(byte[] bytes, int compression) {}

  /** How the messages end: null is the end of all, else why there are no more. */
  record Ending(@Nullable StatusException failure) {}

  /** A message on its way to the session; without bytes the half-close. */
  private static final class Sending {
    final @Nullable Output bytes;
    final @Nullable Output packed; // the same compressed
    final @Nullable CompletableFuture<Boolean> done;

    Sending(
        @Nullable Output bytes,
        @Nullable Output packed,
        @Nullable CompletableFuture<Boolean> done) {
      this.bytes = bytes;
      this.packed = packed;
      this.done = done;
    }
  }

  // What the sides differ in. All on the loop, except hand, encoded and decoded.

  /** Has work done on the loop. */
  abstract void hand(Runnable work);

  /** Throws StatusException for a message that the codec does not take. */
  abstract Output encoded(Object message);

  /** Throws StatusException for bytes that are no message. */
  abstract Object decoded(Got message);

  /** A message compressed; null if it is to be sent plain. */
  abstract @Nullable Output packed(Output message);

  /** Whether the other side accepts a compression. */
  abstract boolean accepts(int compression);

  /** Gives the session a message. False: wait. */
  abstract boolean pass(Output message, int compression);

  abstract void passHalfClose();

  /** A message was too long for the peer. */
  abstract void tooLong(LimitException error);

  /** Consumes a message. Null: there is none now. */
  abstract @Nullable Message take();

  /** A message that came with the end, behind all others; null: none did, or it was taken. */
  @Nullable Got takeLast() {
    return null;
  }

  /** How the messages end, once {@link #take} has given all; null: there may be more. */
  abstract @Nullable Ending ended();

  /** What was appended is to be written. */
  abstract void schedule();

  /** Whether nothing can be sent any more. */
  abstract boolean isOver();

  // Sending.

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
    int size = bytes.length() + COST;
    CompletableFuture<Boolean> done =
        onTheWay.addAndGet(size) > AHEAD || full ? new CompletableFuture<>() : null;
    Sending sending = new Sending(bytes, packed, done);
    hand(() -> arrive(sending));
    return done == null ? SENT : done;
  }

  /** Sends nothing more, behind what is on its way. */
  void halfClose() {
    hand(() -> arrive(new Sending(null, null, null)));
  }

  private void arrive(Sending sending) {
    if (blocked || !held.isEmpty()) {
      held.add(sending);
    } else {
      passOn(sending);
      schedule();
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
    } catch (LimitException e) {
      tooLong(e);
      settle(sending, false);
      return;
    }
    if (more) {
      settle(sending, true);
    } else {
      onTheWay.addAndGet(-(bytes.length() + COST));
      last = sending;
      block();
    }
  }

  /** Holds back what is sent, until {@link #writable}. On the loop, or before it knows of this. */
  void block() {
    blocked = true;
    full = true;
  }

  private void settle(Sending sending, boolean sent) {
    if (sending.bytes != null && sending != last) {
      onTheWay.addAndGet(-(sending.bytes.length() + COST));
    }
    if (sending.done != null) {
      sending.done.complete(sent);
    }
  }

  /** The session takes more. */
  void writable() {
    blocked = false;
    full = false;
    Sending before = last;
    if (before != null) {
      if (before.done != null) {
        before.done.complete(!isOver());
      }
      last = null;
    }
    while (!blocked && !held.isEmpty()) {
      passOn(held.remove());
    }
    schedule();
  }

  // Receiving.

  @Override
  public CompletableFuture<@Nullable Object> receiveAsync() {
    CompletableFuture<@Nullable Object> before = waiter.get();
    if (before != null && !before.isDone()) {
      throw new IllegalStateException("another receives from this stream");
    }
    CompletableFuture<@Nullable Object> result = new CompletableFuture<>();
    Got message = before == null ? taken.poll() : null;
    if (message != null) {
      give(result, message);
      return result;
    }
    Ending over = before == null ? ending : null;
    if (over != null) {
      finish(result, over);
      return result;
    }
    waiter.set(result);
    if (fetching.compareAndSet(false, true)) {
      hand(fetch);
    }
    return result;
  }

  private void fetch() {
    fetching.set(false);
    wanted = true;
    serve();
  }

  /** A message has come, or the end. */
  void arrived() {
    if (wanted) {
      serve();
    }
  }

  /** The call is over: nothing is sent any more, and who waits is told. */
  void over() {
    finished = true;
    writable();
    arrived();
  }

  private void serve() {
    CompletableFuture<@Nullable Object> waits = waiter.get();
    if (waits == null) {
      wanted = false;
      return;
    }
    int bytes = 0;
    boolean any = false;
    for (int count = 0; count < TAKEN && bytes < AHEAD; count++) {
      Message message = take();
      if (message == null) {
        break;
      }
      bytes += message.bytes().length;
      taken.add(new Got(message.bytes(), message.compression()));
      any = true;
    }
    if (any) {
      schedule();
    }
    Got first = taken.poll();
    if (first == null) {
      first = takeLast();
    }
    Ending over = first == null ? ended() : null;
    if (first == null && over == null) {
      return;
    }
    if (over != null) {
      ending = over;
    }
    wanted = false;
    waiter.set(null);
    if (waits.isDone()) { // cancelled: the next one has what came
      if (first != null) {
        taken.addFirst(first);
      }
    } else if (first != null) {
      give(waits, first);
    } else if (over != null) {
      finish(waits, over);
    }
  }

  private void give(CompletableFuture<@Nullable Object> to, Got message) {
    try {
      to.complete(decoded(message));
    } catch (StatusException e) {
      to.completeExceptionally(e);
    }
  }

  private static void finish(CompletableFuture<@Nullable Object> to, Ending over) {
    if (over.failure() == null) {
      to.complete(null);
    } else {
      to.completeExceptionally(over.failure());
    }
  }
}
