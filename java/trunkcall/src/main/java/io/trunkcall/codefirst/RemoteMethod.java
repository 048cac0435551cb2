package io.trunkcall.codefirst;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A public method that is served. In a client's interface: the remote method behind one of its own,
 * where its name is another.
 *
 * <p>A served method may take an {@link io.trunkcall.ServerCall} first, which is no argument, and
 * may return a {@link java.util.concurrent.CompletionStage} of its result.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface RemoteMethod {
  /** Its public name, the lowerCamelCase of its own if it is empty. */
  String value() default "";

  /**
   * Of a served method: it runs on the event loop and must not block ({@link
   * io.trunkcall.Handler#inline}).
   */
  boolean inline() default false;
}
