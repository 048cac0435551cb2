package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import java.util.List;
import java.util.stream.Stream;

/** A set of codes: bit n is code n. */
public record Codes(int bits) {
  static Codes of(Code... codes) {
    int bits = 0;
    for (Code code : codes) {
      bits |= 1 << code.number();
    }
    return new Codes(bits);
  }

  Codes with(Code code) {
    return new Codes(bits | 1 << code.number());
  }

  /** Whether a code is among them. */
  public boolean has(Code code) {
    return (bits >> code.number() & 1) == 1;
  }

  /** In the order of their numbers. */
  public List<Code> all() {
    return Stream.of(Code.values()).filter(this::has).toList();
  }
}
