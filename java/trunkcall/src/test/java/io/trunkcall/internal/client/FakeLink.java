package io.trunkcall.internal.client;

import io.trunkcall.ConnectionGauges;
import java.time.Duration;

/** A connection that is what the test says. */
final class FakeLink implements Link {
  final Connector connector;
  final String remote;
  final long began;
  boolean usable = true;
  boolean greeted = true;
  boolean lost;
  boolean draining;
  int open;
  long calls;

  FakeLink(Connector connector, String remote, long began) {
    this.connector = connector;
    this.remote = remote;
    this.began = began;
  }

  /** The connection breaks. */
  void breaks() {
    usable = false;
    lost = true;
    connector.lost(this, "connection reset");
  }

  /** The server drains it, and it closes. */
  void isDrained() {
    usable = false;
    connector.drained(this);
  }

  /** The server ends it with a reason. */
  void isTurnedAway() {
    usable = false;
    connector.turnedAway(this, "not served");
  }

  @Override
  public boolean usable() {
    return usable;
  }

  @Override
  public boolean greeted() {
    return greeted;
  }

  @Override
  public boolean lost() {
    return lost;
  }

  @Override
  public int open() {
    return open;
  }

  @Override
  public long activity() {
    return open > 0 ? -1 : calls;
  }

  @Override
  public long began() {
    return began;
  }

  @Override
  public String remote() {
    return remote;
  }

  @Override
  public String unheard() {
    return greeted ? "" : "nothing has come";
  }

  @Override
  public void drain() {
    draining = true;
    usable = false;
  }

  @Override
  public ConnectionGauges gauges() {
    return new ConnectionGauges(
        draining ? ConnectionGauges.State.DRAINING : ConnectionGauges.State.OPEN,
        Duration.ZERO,
        Duration.ZERO,
        open,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        "");
  }
}
