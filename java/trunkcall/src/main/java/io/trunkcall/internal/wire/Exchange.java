package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import org.jspecify.annotations.Nullable;

/**
 * A call of the peer as those see it who serve it, whichever protocol it came by. Used where its
 * connection is used.
 */
public interface Exchange {
  /** What belongs to those who serve it. */
  @Nullable Object user();

  /** Sets what belongs to them. */
  void setUser(@Nullable Object user);

  /** The codec of its messages. */
  int codec();

  /** Its deadline in µs of the connection's clock; 0: none. */
  long deadline();

  /** Its metadata, empty if there is none. */
  Metadata metadata();

  /** The host, and perhaps port, that the caller asked for; empty where its protocol says none. */
  default String authority() {
    return "";
  }

  /** The caller's address, empty for that of the connection. */
  default String peer() {
    return "";
  }

  /** Which attempt the caller says that it is; 0: it says nothing. */
  int attempt();

  /** Whether its caller wants acceptance, not an answer: {@link #accept}. */
  boolean oneway();

  /** The request of a method that takes one; null for others. */
  byte @Nullable [] message();

  /**
   * The same request, if it lies in an array that nobody else has: that may be used again once the
   * message was decoded.
   */
  default @Nullable Message ownMessage() {
    return null;
  }

  /** The number of the compression that {@link #message} is in. */
  int compression();

  /** Whether the caller takes answers in the compression of this number. */
  boolean accepts(int compression);

  /** Whether the call has ended: nothing that is sent on it leaves any more. */
  boolean over();

  /** Whether the caller sends no more: all requests have come, or lie in this call. */
  boolean requestEnded();

  /** Consumes the oldest request message; null when there is none now. */
  @Nullable Message takeMessage();

  /**
   * The same for who has not received it yet: its bytes may count as held until they are {@link
   * #received}.
   */
  default @Nullable Message takeAhead() {
    return takeMessage();
  }

  /** So many bytes of messages that were taken ahead are held no more. */
  default void received(long bytes) {}

  /** How many bytes may be taken ahead of who receives. */
  default int ahead() {
    return 64 << 10;
  }

  /**
   * Sends an answer message. False: wait until more is asked for. The array is kept, and must not
   * change any more.
   *
   * @throws LimitException for a message that the peer does not take
   */
  boolean send(byte[] array, int offset, int length, int compression);

  /** The same, of an array that nobody else uses: it may be used again for other messages. */
  default boolean sendOwn(byte[] array, int offset, int length, int compression) {
    return send(array, offset, length, compression);
  }

  /**
   * Sends early metadata, before any answer message.
   *
   * @throws LimitException for metadata that the peer does not take
   * @throws IllegalArgumentException for metadata that is malformed
   */
  void sendMetadata(Metadata metadata);

  /**
   * The handler has returned OK with its last, or only, message. {@code finish} is called once for
   * each started call, also when the call was stopped before.
   *
   * @throws LimitException for what the peer does not take; the call is as it was
   * @throws IllegalArgumentException for metadata that is malformed
   */
  void finish(byte[] array, int offset, int length, int compression, Metadata trailers);

  /** The same, of an array that nobody else uses: it may be used again for other messages. */
  default void finishOwn(byte[] array, int offset, int length, int compression, Metadata trailers) {
    finish(array, offset, length, compression, trailers);
  }

  /** The handler has returned without a last message; see the other {@code finish}. */
  void finish(Status status, Metadata trailers);

  /** Tells the caller of a one-way call that its handler will run. */
  void accept();

  /** Ends a call whose handler did not run and will not; stands for {@code finish} as well. */
  void refuse(Status status, Metadata trailers);

  /** Ends a started call without its handler, which still has to return. */
  void fail(Code code, String text);
}
