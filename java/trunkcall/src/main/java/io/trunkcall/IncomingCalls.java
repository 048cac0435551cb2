package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Takes the calls of a {@link Protocol}. Used by any thread. */
public interface IncomingCalls {
  /**
   * Serves a call. The future is done with how it ended, which the protocol is to tell the caller;
   * it does not fail. To cancel it cancels the call, whose caller is gone.
   */
  CompletableFuture<Ending> serve(IncomingCall call, Exchange exchange);

  /** The method of a name; null: it is not served. */
  @Nullable Method<?, ?> method(String name);
}
