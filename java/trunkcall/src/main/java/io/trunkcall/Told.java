package io.trunkcall;

import io.trunkcall.internal.transport.Faults;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An observer as those see it who tell it something; there may be none. */
final class Told {
  private final @Nullable Observer observer;

  Told(@Nullable Observer observer) {
    this.observer = observer;
  }

  void tell(Consumer<Observer> what) {
    if (observer == null) {
      return;
    }
    try {
      what.accept(observer);
    } catch (Throwable e) {
      Journal.LOGGER.log(System.Logger.Level.ERROR, "an observer threw", e);
    }
  }

  void connected(Connection connection) {
    tell(one -> one.connected(connection));
  }

  void connectFailed(String target, String why) {
    tell(one -> one.connectFailed(target, why));
  }

  /** A connection is over that was connected. */
  void ended(Connection connection, @Nullable Throwable fault, String why) {
    if (fault != null && Faults.isOfWriting(fault)) {
      tell(one -> one.writeFailed(connection, fault));
    } else if (fault != null) {
      tell(one -> one.readFailed(connection, fault));
    }
    tell(one -> one.disconnected(connection, why));
  }
}
