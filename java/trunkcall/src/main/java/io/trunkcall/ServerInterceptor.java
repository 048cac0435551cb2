package io.trunkcall;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Wraps the calls that a server serves, of all kinds. The first one given is the outermost. It runs
 * where the handler does, and {@code next.proceed} runs the handler, so that a blocking one has
 * answered when it returns.
 *
 * <p>It returns what the next step returned or something in its place: of a method that answers
 * with one message that message, of others null, when the handler is done. Not to go on, it throws
 * {@link StatusException}, which refuses the call, or answers by itself.
 */
@FunctionalInterface
public interface ServerInterceptor {
  /** Serves the call, or has {@code next} do so. */
  CompletionStage<? extends @Nullable Object> intercept(Call call, Next next) throws Exception;
}
