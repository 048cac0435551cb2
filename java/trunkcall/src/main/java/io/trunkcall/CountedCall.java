package io.trunkcall;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.client.Opening;
import io.trunkcall.internal.transport.LoneCalls;
import io.trunkcall.internal.transport.TurnLoop;
import org.jspecify.annotations.Nullable;

/** A call of this side as its loop counts it, to know whether calls come one at a time. */
abstract class CountedCall extends Opening {
  private @Nullable LoneCalls lone; // where it was counted, once it has begun

  /** It begins, for the first time or again. On the loop. */
  final void count(EventLoop on) {
    TurnLoop loop = TurnLoop.of(on);
    if (lone == null && loop != null) {
      lone = loop.lone();
      lone.begins();
    }
  }

  /** It is over. On the loop. */
  final void countNoMore() {
    LoneCalls counted = lone;
    if (counted != null) {
      counted.ended(waited());
    }
  }

  /** Whether a thread waits for it that may turn the loop itself. */
  boolean waited() {
    return false;
  }
}
