package io.trunkcall;

import io.trunkcall.internal.wire.LimitException;
import io.trunkcall.internal.wire.Message;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one call between the thread of a user and the loop that owns the session.
 *
 * <p>Sending: a message is encoded on the user's thread and queued for the loop, which passes on
 * all that has gathered. The user may go on at once while less than {@link #OUTGOING} bytes are on
 * the way there and the session takes them.
 *
 * <p>Receiving: once somebody has asked for a message, the loop takes messages from the session, up
 * to {@link #AHEAD} bytes ahead of who receives. To be taken is to be consumed: credit returns as
 * the application asks.
 */
abstract class Pipe implements MessageStream {
  // Bytes between the user and the session. A thread that sends fast waits once for so many.
  private static final int OUTGOING = 256 << 10;
  private static final int AHEAD = 64 << 10; // of those who receive
  private static final int COST = 64; // of a message, however short
  private static final CompletableFuture<Boolean> SENT = CompletableFuture.completedFuture(true);

  // Sending. `last`, `behind` and `blocked` belong to the loop.
  private final Queue<Sending> outgoing = new ConcurrentLinkedQueue<>();
  private final AtomicInteger onTheWay = new AtomicInteger(); // bytes of those
  private final AtomicBoolean passing = new AtomicBoolean(); // the loop will look at them
  private final Runnable pass = this::passAll;
  private @Nullable Sending last; // sent, and the session wants no more behind it
  private @Nullable Runnable behind; // what is to be done behind them
  private boolean blocked;
  private volatile boolean full;
  private volatile boolean finished; // nothing can be sent any more

  // Receiving. Who takes the waiter out of its place, the loop or who receives, polls `taken`.
  private final Queue<Got> taken = new ConcurrentLinkedQueue<>();
  private final AtomicInteger lying = new AtomicInteger(); // bytes of those
  private final AtomicReference<@Nullable Waiter> waiter = new AtomicReference<>();
  private final AtomicBoolean fetching = new AtomicBoolean(); // the loop will look for messages
  private final Runnable fetch = this::fetch;
  private volatile boolean wanted; // the loop takes what comes
  private volatile @Nullable Got back; // given to one that was cancelled: first of all
  private volatile @Nullable Ending ending;

  /** A message as it came. */
  record Got(byte[] bytes, int compression) {}

  /** Somebody who waits for a message, and decodes it himself if it is {@code raw}. */
  private static final class Waiter extends CompletableFuture<@Nullable Object> {
    final boolean raw;

    Waiter(boolean raw) {
      this.raw = raw;
    }
  }

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

  /** A message was too long for the peer, or what goes ahead of it cannot be sent. */
  abstract void unsendable(RuntimeException error);

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
        onTheWay.addAndGet(size) > OUTGOING || full ? new CompletableFuture<>() : null;
    send(new Sending(bytes, packed, done));
    return done == null ? SENT : done;
  }

  /** Sends nothing more, behind what is on its way. */
  void halfClose() {
    send(new Sending(null, null, null));
  }

  private void send(Sending sending) {
    outgoing.add(sending);
    if (!passing.get() && passing.compareAndSet(false, true)) {
      hand(pass);
    }
  }

  private void passAll() {
    passing.set(false);
    for (Sending next = blocked ? null : outgoing.poll(); next != null; ) {
      passOn(next);
      next = blocked ? null : outgoing.poll();
    }
    Runnable rest = behind;
    if (rest != null && outgoing.isEmpty()) {
      behind = null;
      rest.run();
    }
    schedule();
  }

  /**
   * Does something, once all that was sent is with the session, or the call is over. On the loop.
   */
  void behindAll(Runnable work) {
    if (outgoing.isEmpty()) {
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
    passAll();
  }

  // Receiving.

  @Override
  public CompletableFuture<@Nullable Object> receiveAsync() {
    Waiter waits = new Waiter(false);
    receive(waits);
    return waits;
  }

  @Override
  public @Nullable Object receive() {
    Waiter waits = new Waiter(true); // so that the loop has less to do
    receive(waits);
    Object found = Blocking.getNullable(waits);
    return found instanceof Got message ? decoded(message) : found;
  }

  private void receive(Waiter waits) {
    Waiter before = waiter.get();
    if (before != null && !before.isDone()) {
      throw new IllegalStateException("another receives from this stream");
    }
    if (before == null && receiveNow(waits)) {
      return;
    }
    waiter.set(waits);
    if (!wanted) {
      askForMore();
    } else if (hasSome() && waiter.compareAndSet(waits, null)) { // it came meanwhile
      receiveNow(waits);
    }
  }

  private boolean hasSome() {
    return back != null || !taken.isEmpty() || ending != null;
  }

  /** Whether there was a message, or the end. */
  private boolean receiveNow(Waiter waits) {
    Ending over = ending; // read ahead of the messages: they are all there when it is
    Got message = next();
    if (message != null) {
      if (!wanted && lying.get() < AHEAD / 2) {
        askForMore();
      }
      give(waits, message);
      return true;
    }
    if (over == null) {
      return false;
    }
    finish(waits, over);
    return true;
  }

  private @Nullable Got next() {
    Got message = back;
    if (message != null) {
      back = null;
      return message;
    }
    message = taken.poll();
    if (message != null) {
      lying.addAndGet(-(message.bytes().length + COST));
    }
    return message;
  }

  private void askForMore() {
    if (!fetching.get() && fetching.compareAndSet(false, true)) {
      hand(fetch);
    }
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

  /** Nothing can be sent any more: known before anybody is told how the call ended. */
  void endSending() {
    finished = true;
  }

  /** The call is over: nothing is sent any more, and who waits is told. */
  void over() {
    endSending();
    writable();
    arrived();
  }

  /** Takes what there is room for, and gives the first of it to who waits. */
  private void serve() {
    boolean any = false;
    while (lying.get() < AHEAD || makeRoom()) {
      Message message = take();
      if (message == null) {
        end();
        break;
      }
      add(new Got(message.bytes(), message.compression()));
      any = true;
    }
    if (any) {
      schedule();
    }
    // Again if it was cancelled just now, and another waits.
    for (Waiter waits = waiter.get(); waits != null && hasSome(); waits = waiter.get()) {
      if (waits.isDone()) {
        return; // cancelled: whoever receives next replaces it
      }
      if (waiter.compareAndSet(waits, null)) {
        receiveNow(waits);
      }
    }
  }

  /** Enough lies here. True: not any more, it was received meanwhile. */
  private boolean makeRoom() {
    wanted = false;
    if (lying.get() >= AHEAD / 2) {
      return false;
    }
    wanted = true;
    return true;
  }

  private void end() {
    if (ending == null) {
      Got late = takeLast();
      if (late != null) {
        add(late);
      }
      ending = ended();
    }
  }

  private void add(Got message) {
    lying.addAndGet(message.bytes().length + COST);
    taken.add(message);
  }

  private void give(Waiter to, Got message) {
    try {
      if (!to.complete(to.raw ? message : decoded(message))) {
        back = message; // cancelled: the next one has it
      }
    } catch (Throwable e) { // whatever it is, who waits hears of it
      to.completeExceptionally(e);
    }
  }

  private static void finish(Waiter to, Ending over) {
    if (over.failure() == null) {
      to.complete(null);
    } else {
      to.completeExceptionally(over.failure());
    }
  }
}
