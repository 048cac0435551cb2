package io.trunkcall.internal.transport;

import io.netty.channel.EventLoopGroup;
import java.util.ArrayList;
import java.util.List;

/** What tests of other packages see of the loops of the process. */
public final class Turning {
  private static final long APART = LoneCalls.apart;

  private Turning() {}

  /** Calls come soon enough however late they come, so that a busy machine changes nothing. */
  public static void patient(boolean patient) {
    LoneCalls.apart = patient ? Long.MAX_VALUE : APART;
  }

  /** How many calls' callers have turned a loop. */
  public static long leads() {
    return all().stream().mapToLong(TurnLoop::leads).sum();
  }

  /** How many handlers were run by a loop's own thread. */
  public static long runs() {
    return all().stream().mapToLong(TurnLoop::runs).sum();
  }

  private static List<TurnLoop> all() {
    List<TurnLoop> found = new ArrayList<>();
    for (EventLoopGroup group : List.of(Loops.NATIVE.group, Loops.nio().group)) {
      group.forEach(one -> found.add((TurnLoop) one));
    }
    return found;
  }
}
