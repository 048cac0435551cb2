package io.trunkcall;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one call as its {@link Protocol} carries them. Its functions are called where
 * handlers run, so they may wait; at most one call of {@link #receive} and one of the others is
 * under way at a time, until what it returned is done. None is once the call has ended, but one may
 * still be under way when it ends early.
 */
public interface Exchange {
  /**
   * The next message of the request; null after the last. A {@link StatusException} is how the call
   * then ends, any other failure says that the request is cut off.
   */
  CompletionStage<byte @Nullable []> receive() throws Exception;

  /** Sends metadata ahead of the first message, once at most, if there is any. */
  default void sendHeaders(Metadata headers) throws Exception {}

  /**
   * Sends a message of the answer; it is done when the next one may come. A failure says that the
   * caller is gone.
   */
  CompletionStage<?> send(byte[] message) throws Exception;
}
