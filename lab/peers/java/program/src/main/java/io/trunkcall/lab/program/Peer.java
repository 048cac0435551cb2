package io.trunkcall.lab.program;

import io.trunkcall.load.Address;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.Work;
import java.util.List;

/**
 * One framework under measurement. An object of it carries out one command: what {@code serveFlags}
 * or {@code benchFlags} has added can be read by {@code serve} or {@code bench}.
 */
public interface Peer {
  /** What the program is called. */
  String name();

  /** The methods of the benchmark service by their short names, the default first. */
  List<String> methods();

  /** Adds flags of serve that only this peer has. */
  default void serveFlags(Flags flags) {}

  /** Adds flags of bench that only this peer has. */
  default void benchFlags(Flags flags) {}

  /**
   * Begins to answer, until the process ends, and returns the port.
   *
   * @param listen where; of port 0 any free one
   * @param work what handlers of Say do besides their answer
   */
  int serve(Address listen, Work work) throws Exception;

  /** Opens the connections and gives the callers' calls. */
  Calls bench(Options options) throws Exception;
}
