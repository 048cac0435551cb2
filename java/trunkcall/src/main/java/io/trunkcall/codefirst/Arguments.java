package io.trunkcall.codefirst;

import org.jspecify.annotations.Nullable;

/**
 * The arguments of a code-first call: what interceptors find as its request. One thread uses them
 * at a time.
 */
public final class Arguments extends ValueList {
  final Signature signature;

  Arguments(Signature signature, @Nullable Object[] values) {
    super(values, signature.parameters);
    this.signature = signature;
  }
}
