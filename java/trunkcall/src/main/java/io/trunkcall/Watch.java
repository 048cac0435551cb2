package io.trunkcall;

import java.time.Duration;
import java.util.List;

/** What a resolver works for. Any thread may use it. */
public interface Watch {
  /** What follows the scheme in the client's target. */
  String target();

  /**
   * Exchanges the whole set. Of sets in quick succession the last counts. Throws
   * IllegalArgumentException for one that is empty or wrong: the last good set stays then. After
   * the client was closed nothing happens.
   */
  void set(List<Endpoint> endpoints);

  /**
   * Says why there is no set, or none that is newer, while the resolver goes on. It is logged. The
   * last good set stays; as long as there was none, calls fail or wait as if the resolver had
   * thrown.
   */
  void fail(String why);

  /**
   * Waits until an endpoint could not be reached, at most for a time; returns at once if that has
   * happened since the last wait. A resolver that asks at intervals may then ask again. Returns
   * whether it has happened. Throws InterruptedException when the client was closed.
   */
  boolean awaitFailure(Duration atMost) throws InterruptedException;
}
