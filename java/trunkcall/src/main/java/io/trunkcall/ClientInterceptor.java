package io.trunkcall;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Wraps the calls of a client, of all kinds. The first one given is the outermost.
 *
 * <p>It returns what the next step returned or something in its place: of a unary call the message
 * of the response, of a streaming one its {@link MessageStream}, as soon as that is open. It may
 * answer without going on (a cache), or go on more than once (a retry).
 *
 * <pre>{@code
 * (call, next) -> next.proceed(call.withMetadata(
 *     call.metadata().toBuilder().add("authorization", token()).build()))
 * }</pre>
 */
@FunctionalInterface
public interface ClientInterceptor {
  /** Must not block: it may run on an event loop. */
  CompletionStage<? extends @Nullable Object> intercept(Call call, Next next);
}
