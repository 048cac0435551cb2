package io.trunkcall;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Goes on with a call: to the next interceptor, at last to the handler at the server, to the
 * connection at the client.
 */
@FunctionalInterface
public interface Next {
  /** What the next step answers; see the interceptors. */
  CompletionStage<? extends @Nullable Object> proceed(Call call);
}
