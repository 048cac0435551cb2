package io.trunkcall.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * At an interface with {@link io.trunkcall.codefirst.RemoteClient}: who answers when a call has
 * failed.
 *
 * <p>All failures come to it that are a {@link io.trunkcall.StatusException}, but those of calls
 * that the caller has cancelled. A {@link FallbackFactory} is told the failure, and may throw it
 * again. Fallbacks may wait: they run on the thread that waits for the call, or for futures and
 * callbacks on one of 64 threads of their own, never on an event loop.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface ClientFallback {
  /**
   * A class that implements the interface, or a {@link FallbackFactory} of it. Where there is a
   * bean of the class it is used, else Spring makes an object and injects what it wants.
   */
  Class<?> value();
}
