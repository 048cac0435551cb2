package io.trunkcall;

import org.jspecify.annotations.Nullable;

/**
 * What admission says of a call that it lets in.
 *
 * @param principal who calls: handlers and interceptors have it as {@link ServerCall#principal}
 * @param release called once when the call is over and its handler, if it began, is done
 */
public record Admitted(@Nullable Object principal, @Nullable Runnable release) {
  /** Without a principal. */
  public static final Admitted ANYBODY = new Admitted(null, null);

  /** With a principal. */
  public static Admitted as(Object principal) {
    return new Admitted(principal, null);
  }
}
