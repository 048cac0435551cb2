package io.trunkcall;

import io.trunkcall.internal.wire.LargeArrays;
import io.trunkcall.internal.wire.Message;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one call between the thread of a user and the loop that owns the session.
 *
 * <p>Receiving: once somebody has asked for a message, the loop takes messages from the session, up
 * to {@link #ahead} bytes ahead of who receives, who takes all that has gathered. To be taken from
 * the session is to be consumed: credit returns as the application asks. What lies here beyond
 * {@link #UNCOUNTED} bytes counts as held all the same, until it is received.
 */
abstract class Pipe extends PipeSending {
  /**
   * Bytes of those ahead of who receives that take no memory, and as many of those he has taken.
   */
  private static final int UNCOUNTED = 64 << 10;

  // `mine` belongs to who receives, and to the loop while it gives to one who waits.
  private final Handover<Got> taken = new Handover<>();
  private @Nullable Got mine; // taken from those, and not received
  private long left; // the size of these
  private volatile long counted; // that of all that were taken at once, if they count as held still
  private volatile @Nullable Waiter waiter; // changed under the lock of `taken`
  private volatile @Nullable Waiter before; // who waited last, until that is settled
  private final AtomicBoolean fetching = new AtomicBoolean(); // the loop will look for messages
  private final Runnable fetch = this::fetch;
  private final Runnable serve = this::serveNow;
  private boolean serving; // will be run: on the loop
  private long held; // bytes taken from the session that count as held there: on the loop
  private volatile boolean wanted; // the loop takes what comes
  private volatile @Nullable Ending ending;

  /** A message as it came. */
  static final class Got extends Handover.Node<Got> {
    final byte[] array;
    final int length;
    final int compression;
    private boolean own; // the array may be used again once it was decoded

    Got(Message message) {
      super(message.length() + COST);
      this.array = message.array();
      this.length = message.length();
      this.compression = message.compression();
      this.own = message.own();
    }

    /** Whether nobody else has the array. */
    boolean own() {
      return own;
    }

    /** It was decoded. */
    void letGo() {
      if (own) { // a short one, which the message may lie in, is not kept
        LargeArrays.shared().give(array);
      }
    }
  }

  /**
   * Somebody who waits for a message. One who is {@code only} told that there is something takes it
   * himself, so that the loop has less to do.
   */
  private static final class Waiter extends CompletableFuture<@Nullable Object> {
    final boolean only;
    private @Nullable Got given; // what the loop has taken for him
    private @Nullable Object result; // what that is: a message, or why it is none

    Waiter(boolean only) {
      this.only = only;
    }

    /** What was taken for him and he has not had, being cancelled first. */
    @Nullable Got left() {
      Got message = given;
      return message == null || had() ? null : message;
    }

    private boolean had() {
      try {
        return getNow(null) == result;
      } catch (CancellationException e) {
        return false;
      } catch (CompletionException e) {
        return e.getCause() == result;
      }
    }
  }

  /** How the messages end: null is the end of all, else why there are no more. */
  record Ending(@Nullable StatusException failure) {}

  // What the sides differ in. All on the loop, except decoded.

  /** Has work done behind what the loop reads now. On the loop, of a call that is open. */
  abstract void handBehind(Runnable work);

  /** Throws StatusException for bytes that are no message. */
  abstract Object decoded(Got message);

  /**
   * Consumes a message, whose bytes count as held until they are {@link #received}. Null: there is
   * none.
   */
  abstract @Nullable Message take();

  /** Bytes of messages that were taken are held no more. */
  abstract void received(long bytes);

  /** How many bytes are taken ahead of who receives. */
  abstract int ahead();

  /** A message that came with the end, behind all others; null: none did, or it was taken. */
  @Nullable Got takeLast() {
    return null;
  }

  /** How the messages end, once {@link #take} has given all; null: there may be more. */
  abstract @Nullable Ending ended();

  @Override
  public CompletableFuture<@Nullable Object> receiveAsync() {
    settleBefore();
    Ending over = ending; // read ahead of the messages: they are all there when it is
    Got message = nextOne();
    if (message == null && over == null) {
      Waiter waits = new Waiter(false);
      await(waits);
      return waits;
    }
    try {
      return message == null ? ended(over) : CompletableFuture.completedFuture(used(message));
    } catch (Throwable e) { // whatever it is, who receives hears of it
      return CompletableFuture.failedFuture(e);
    }
  }

  private static CompletableFuture<@Nullable Object> ended(@Nullable Ending over) {
    StatusException failure = over == null ? null : over.failure();
    return failure == null
        ? CompletableFuture.completedFuture(null)
        : CompletableFuture.failedFuture(failure);
  }

  @Override
  public @Nullable Object receive() {
    settleBefore();
    while (true) {
      Ending over = ending;
      Got message = nextOne();
      if (message != null) {
        return used(message);
      }
      if (over != null) {
        return Blocking.getNullable(ended(over));
      }
      Waiter waits = new Waiter(true);
      await(waits);
      Blocking.getNullable(waits);
      before = null;
    }
  }

  private Object used(Got message) {
    Object found = decoded(message);
    message.letGo();
    return found;
  }

  /** Whoever waited before must have had his message. One that he left is the next again. */
  private void settleBefore() {
    Waiter one = before;
    if (one == null) {
      return;
    }
    if (!one.isDone()) {
      throw new IllegalStateException("another receives from this stream");
    }
    synchronized (taken) {
      if (waiter == one) {
        waiter = null;
      }
      Got left = one.left();
      if (left != null) {
        left.own = false; // who took it for him may be decoding it still
        left.next = mine;
        mine = left;
        this.left += left.size;
      }
    }
    before = null;
  }

  private @Nullable Got nextOne() {
    Got message = mine;
    if (message == null) {
      message = takeBatch();
      if (message == null) {
        return null;
      }
    }
    mine = message.next;
    message.next = null;
    left -= message.size;
    if (left <= UNCOUNTED && counted > 0) {
      counted = 0;
      askForMore();
    }
    return message;
  }

  private @Nullable Got takeBatch() {
    long size = taken.size();
    if (size > UNCOUNTED) {
      counted = size; // ahead of their leaving there: some are counted twice rather than not at all
    }
    Got oldest = taken.takeAll();
    if (oldest == null) {
      return null;
    }
    left = taken.sizeFrom(oldest);
    counted = left > UNCOUNTED ? left : 0;
    if (!wanted) {
      askForMore();
    }
    return oldest;
  }

  private void await(Waiter waits) {
    before = waits;
    synchronized (taken) {
      waiter = waits;
    }
    if (!wanted) {
      askForMore();
    } else {
      wake(); // if something came meanwhile
    }
  }

  /** Has the one who waits go on, if there is something for him. */
  private void wake() {
    Waiter waits = waiter;
    if (waits == null || (taken.isEmpty() && ending == null)) {
      return;
    }
    Ending over;
    Got message = null;
    synchronized (taken) {
      if (waiter != waits || waits.isDone()) {
        return; // cancelled: whoever receives next looks himself
      }
      over = ending;
      if (!waits.only) {
        message = nextOne();
        waits.given = message;
        if (message == null && over == null) {
          return;
        }
      }
      waiter = null;
    }
    if (waits.only) {
      waits.complete(null);
    } else {
      give(waits, message, over);
    }
  }

  private void give(Waiter to, @Nullable Got message, @Nullable Ending over) {
    try {
      if (message != null) {
        Object decoded = decoded(message);
        to.result = decoded;
        if (to.complete(decoded)) {
          message.letGo();
        }
      } else if (over == null || over.failure() == null) {
        to.complete(null);
      } else {
        to.completeExceptionally(over.failure());
      }
    } catch (Throwable e) { // whatever it is, who waits hears of it
      to.result = e;
      to.completeExceptionally(e);
    }
  }

  private void askForMore() {
    if (!fetching.get() && fetching.compareAndSet(false, true)) {
      hand(fetch);
    }
  }

  private void fetch() {
    fetching.set(false);
    wanted = true;
    takeIn();
  }

  /** A message has come, or the end. Taken behind all that is read at once: one is woken once. */
  void arrived() {
    if (wanted && !serving) {
      serving = true;
      handBehind(serve);
    }
  }

  private void serveNow() {
    serving = false;
    if (wanted) {
      takeIn();
    }
  }

  /** The call is over: nothing is sent any more, and who waits is told. */
  void over() {
    endSending();
    writable();
    if (wanted) {
      takeIn();
    }
  }

  /** Takes what there is room for, and wakes who waits. */
  private void takeIn() {
    boolean any = false;
    while (taken.size() < ahead() || makeRoom()) {
      Message message = take();
      if (message == null) {
        end();
        break;
      }
      taken.add(new Got(message));
      held += message.length();
      any = true;
    }
    count();
    if (any) {
      schedule();
    }
    wake();
  }

  /** Lets go of what is received by now, or need not be counted. */
  private void count() {
    long most = Math.max(taken.size() - UNCOUNTED, 0) + counted;
    if (held > most) {
      received(held - most);
      held = most;
    }
  }

  /** Enough lies here. True: not any more, it was received meanwhile. */
  private boolean makeRoom() {
    wanted = false;
    if (taken.size() >= ahead()) {
      return false;
    }
    wanted = true;
    return true;
  }

  private void end() {
    if (ending == null) {
      Got late = takeLast();
      if (late != null) {
        taken.add(late);
      }
      ending = ended();
    }
  }
}
