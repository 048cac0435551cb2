package io.trunkcall.codefirst;

import org.jspecify.annotations.Nullable;

/**
 * The results of a code-first call, none, one or several: what interceptors find as the message of
 * its response. One thread uses them at a time.
 */
public final class Results extends ValueList {
  final @Nullable Signature signature; // null where an interceptor made them

  Results(@Nullable Signature signature, @Nullable Object[] values) {
    super(values, signature == null ? null : signature.results);
    this.signature = signature;
  }

  /**
   * Results for an interceptor to answer with, in place of what it wraps. They are written by their
   * own types.
   */
  public static Results of(@Nullable Object... values) {
    return new Results(null, values.clone());
  }
}
