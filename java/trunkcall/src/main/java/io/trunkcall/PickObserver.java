package io.trunkcall;

/** A picker that also wants to know what became of the endpoints that it chose. */
public interface PickObserver extends Picker {
  /**
   * Told once for each endpoint that {@link #pick} returned, even if there is another picker by
   * then. If the call did not go there, because the endpoint was not ready or the call ended
   * before, the status is a local one, {@link Delivery#NOT_SENT}. Called on the client's loop.
   */
  void ended(EndpointState endpoint, Outcome outcome);
}
