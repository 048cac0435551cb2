package io.trunkcall;

import io.trunkcall.internal.transport.Faults;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An observer as those see it who tell it something; there may be none. Any thread. */
final class Told {
  private final @Nullable Observer observer;
  private final DroppedEvents dropped;
  private final Sequence beside = sequence(); // what is of no connection

  Told(@Nullable Observer observer, DroppedEvents dropped) {
    this.observer = observer;
    this.dropped = dropped;
  }

  /** What is told of one connection. */
  static Sequence sequence() {
    return new Sequence("an observer threw", 0);
  }

  private void tell(Sequence behind, Consumer<Observer> what) {
    Observer there = observer;
    if (there != null && !behind.add(() -> what.accept(there))) {
      dropped.add();
    }
  }

  void listening(String address) {
    tell(beside, one -> one.listening(address));
  }

  void listenFailed(String where, Throwable error) {
    tell(beside, one -> one.listenFailed(where, error));
  }

  void connectFailed(String target, String why) {
    tell(beside, one -> one.connectFailed(target, why));
  }

  void policyTaken(String file) {
    tell(beside, one -> one.policyTaken(file));
  }

  void policyRefused(String file, String why) {
    tell(beside, one -> one.policyRefused(file, why));
  }

  void connected(Connection connection, Sequence events) {
    tell(events, one -> one.connected(connection));
  }

  /** A connection is over that was connected. */
  void ended(Connection connection, Sequence events, @Nullable Throwable fault, String why) {
    if (fault != null && Faults.isOfWriting(fault)) {
      tell(events, one -> one.writeFailed(connection, fault));
    } else if (fault != null) {
      tell(events, one -> one.readFailed(connection, fault));
    }
    tell(events, one -> one.disconnected(connection, why));
  }
}
