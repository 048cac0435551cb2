package io.trunkcall.internal.wire;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One connection's part of a {@link Budget}, and the bytes that its peer has promised: those are
 * counted against a limit of the connection alone, and take no memory. Belongs to the connection's
 * thread, except {@link #drawn} and {@link #ask}.
 */
public final class Share {
  /** What a connection holds without counting it: small calls never touch what they share. */
  public static final long FREE = 64 << 10;

  /** What a connection may hold before it holds more than its share. */
  public static final long LEAST = 1 << 20;

  private static final long STEP = 64 << 10; // by how much a connection draws on the budget

  private final Holder connection;
  private final Budget budget;
  final long mostPromised;
  private final AtomicBoolean asked = new AtomicBoolean();
  private volatile long drawn;
  private boolean closed;
  long promised; // of messages being put together, with whole ones not consumed
  long held; // of messages and queued answers
  long order; // counts the calls that began to hold something

  Share(Holder connection, Budget budget, long mostPromised) {
    this.connection = connection;
    this.budget = budget;
    this.mostPromised = mostPromised;
  }

  /** Bytes drawn on the budget. */
  long drawn() {
    return drawn;
  }

  /** Counts bytes that the peer promises; nothing if they are too many. */
  void promise(long size) throws CallFault {
    if (promised + size > mostPromised) {
      throw new CallFault(
          ErrorClass.MEMORY, "messages of this connection would exceed " + mostPromised + " bytes");
    }
    promised += size;
  }

  /** Counts bytes that are held for a call, of which {@code holder} is a direction. */
  void hold(long size, Object holder) throws CallFault {
    held += size;
    if (held - FREE > drawn) {
      try {
        draw(holder);
      } catch (CallFault full) {
        held -= size;
        throw full;
      }
    }
  }

  private long needed() {
    return held + (closed ? 0 : connection.unsent()) - FREE;
  }

  /** Draws on the budget for what is held. */
  void draw(@Nullable Object holder) throws CallFault {
    while (true) {
      long lacking = needed() - drawn;
      if (lacking <= 0) {
        return;
      }
      long step = (lacking + STEP - 1) / STEP * STEP;
      if (!budget.fits(step, false)) {
        Share greatest = budget.greatest(this, step);
        if (greatest == this) {
          if (!connection.relieve(holder)) {
            throw full();
          }
          continue;
        }
        greatest.ask();
        if (!budget.fits(step, true)) {
          throw full();
        }
      }
      budget.draw(this, step);
      setDrawn(drawn + step);
    }
  }

  private CallFault full() {
    return new CallFault(ErrorClass.MEMORY, budget.full());
  }

  // For connections of other protocols.

  /** Counts more bytes, or fewer, that the peer promises. False: they are too many. */
  public boolean promises(long more) {
    if (more > 0 && promised + more > mostPromised) {
      return false;
    }
    promised += more;
    return true;
  }

  /** Counts bytes that are held for a call, beside output. False: there is no memory for them. */
  public boolean holds(long size, Object call) {
    held += size;
    try {
      draw(call);
      return true;
    } catch (CallFault full) {
      held -= size;
      return false;
    }
  }

  /** Draws on the budget for output that has grown, or gives back what is not needed any more. */
  public void settle() {
    if (drawn > 0) {
      returnSurplus();
    }
    if (connection.unsent() > FREE && !closed) {
      try {
        draw(null);
      } catch (CallFault full) {
        // Others have let go of what they could.
      }
    }
  }

  /** Bytes that are held, beside output. */
  public long held() {
    return held;
  }

  // The connection's thread alone writes it.
  private void setDrawn(long bytes) {
    drawn = bytes;
  }

  /** Bytes are no longer held. */
  public void letGo(long size) {
    held -= size;
    if (drawn > 0) {
      returnSurplus();
    }
  }

  /** Gives back what is not needed any more. */
  public void returnSurplus() {
    long have = drawn;
    long surplus = (have - Math.max(needed(), 0)) / STEP * STEP;
    if (surplus > 0) {
      setDrawn(have - surplus);
      budget.giveBack(this, surplus, have == surplus);
    }
  }

  /** The connection is gone, and its output with it. */
  public void close() {
    closed = true;
    returnSurplus();
  }

  /**
   * Whether the connection holds more than its share: an equal part of the budget for each
   * connection that has drawn on it, and at least {@link #LEAST}.
   */
  public boolean exceeded() {
    return drawn >= LEAST && drawn > budget.part();
  }

  /** An equal part of the budget for each connection that has drawn on it. */
  public long part() {
    return budget.part();
  }

  // Between connections.

  /** Has the connection free memory, unless it was asked already. On any thread. */
  void ask() {
    if (asked.compareAndSet(false, true)) {
      connection.reliefAsked();
    }
  }

  /** Frees memory as long as this connection holds most and the limit is exceeded. */
  public void relieve() {
    while (budget.over() && budget.greatest(this, 0) == this) {
      if (!connection.relieve(null)) {
        break;
      }
    }
    asked.set(false);
    if (budget.over()) {
      Share greatest = budget.greatest(this, 0);
      if (greatest != this) {
        greatest.ask();
      }
    }
  }
}
