package io.trunkcall.internal.policy;

import java.util.List;
import java.util.stream.Collectors;

/** Why a file is not taken: at least one fault, each a line of the message. */
public final class BadFileException extends Exception {
  private final transient List<Fault> faults;

  /** Made of all faults that are told. */
  public BadFileException(List<Fault> faults) {
    super(
        faults.stream().map(Fault::toString).collect(Collectors.joining("\n")), null, false, false);
    this.faults = List.copyOf(faults);
  }

  BadFileException(int line, String what) {
    this(List.of(new Fault(line, "", what)));
  }

  /** In the order in which they are told. */
  public List<Fault> faults() {
    return faults;
  }
}
