package io.trunkcall.internal.wire;

import org.jspecify.annotations.Nullable;

/** What the calls of both sides have. Owned by a session, and used where the session is used. */
public abstract class Call {
  final Session session;
  int id; // w1 of its frames; 0 when it never got a slot
  int codec;
  long deadline;
  byte state;
  @Nullable ReceiveFlow receiving;
  @Nullable SendFlow sending;
  private @Nullable Object user;

  Call(Session session, int id, int codec, long deadline, @Nullable Object user) {
    this.session = session;
    this.id = id;
    this.codec = codec;
    this.deadline = deadline;
    this.user = user;
  }

  /** Its session. */
  public final Session session() {
    return session;
  }

  /** The word that names it on the wire: slot, generation and initiator bit; 0 if it has none. */
  public final int id() {
    return id;
  }

  /** The codec of its messages. */
  public final int codec() {
    return codec;
  }

  /** Its deadline in µs of the session's clock; 0: none. */
  public final long deadline() {
    return deadline;
  }

  /** What belongs to the layer above. */
  public final @Nullable Object user() {
    return user;
  }

  /** Sets what belongs to the layer above. */
  public final void setUser(@Nullable Object user) {
    this.user = user;
  }

  /** Takes back the message that was sent last, if nothing of it was appended yet. */
  public final void withdraw() {
    session.sender.withdraw(this);
  }

  /** Whether the call has ended for the layer above: nothing that is sent on it leaves any more. */
  public abstract boolean over();

  /** Whether credit may still be granted for what comes. */
  abstract boolean takesCredit();
}
