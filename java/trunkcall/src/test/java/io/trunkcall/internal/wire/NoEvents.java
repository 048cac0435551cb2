package io.trunkcall.internal.wire;

import java.util.ArrayList;
import java.util.List;

/** Events of which only failures are remembered. */
class NoEvents implements Events {
  final List<String> failures = new ArrayList<>();

  @Override
  public void failed(ErrorClass kind, String text) {
    failures.add(kind.word());
  }
}
