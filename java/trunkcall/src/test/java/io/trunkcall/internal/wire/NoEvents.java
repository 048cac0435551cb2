package io.trunkcall.internal.wire;

import io.trunkcall.Metadata;
import java.util.ArrayList;
import java.util.List;

/** Events of which only failures are remembered. */
class NoEvents implements Events {
  final List<String> failures = new ArrayList<>();

  @Override
  public void start(IncomingCall call) {}

  @Override
  public void stopped(IncomingCall call) {}

  @Override
  public void arrived(IncomingCall call) {}

  @Override
  public void arrived(OutgoingCall call) {}

  @Override
  public void halfClosed(IncomingCall call) {}

  @Override
  public void header(OutgoingCall call, Metadata metadata) {}

  @Override
  public void ended(OutgoingCall call) {}

  @Override
  public void writable(IncomingCall call) {}

  @Override
  public void writable(OutgoingCall call) {}

  @Override
  public void slotFree() {}

  @Override
  public void relieved() {}

  @Override
  public void reliefAsked() {}

  @Override
  public void goesAway(int reason, String text) {}

  @Override
  public void overdue() {}

  @Override
  public void failed(ErrorClass kind, String text) {
    failures.add(kind.word());
  }
}
