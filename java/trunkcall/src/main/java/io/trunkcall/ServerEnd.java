package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.wire.ErrorClass;
import java.util.concurrent.ScheduledFuture;
import org.jspecify.annotations.Nullable;

/** A server's end of one connection. */
final class ServerEnd extends End {
  private final Server server;
  private @Nullable ScheduledFuture<?> aged;

  ServerEnd(Server server, Serving serving, Calling calling) {
    super(serving, calling);
    this.server = server;
  }

  @Override
  public void connected(Carrier made) {
    super.connected(made);
    aged = server.ageing(this, () -> drain("the connection has reached its maximum age"));
    server.connected(this);
  }

  @Override
  public void disconnected(String reason) {
    if (aged != null) {
      aged.cancel(false);
    }
    serving.journal.log(
        System.Logger.Level.DEBUG, "disconnected", carrier().remote() + ": " + reason, null);
    super.disconnected(reason);
    server.disconnected(this);
  }

  @Override
  public void failed(ErrorClass kind, String text) {
    super.failed(kind, text);
    serving.journal.log(
        System.Logger.Level.WARNING, "connection ended", carrier().remote() + ": " + text, null);
  }

  @Override
  public void goesAway(int reason, String text) {
    if (reason != 0) {
      serving.journal.log(
          System.Logger.Level.WARNING,
          "a peer ends the connection",
          carrier().remote() + ": reason " + reason + " " + text,
          null);
    }
    super.goesAway(reason, text);
  }

  @Override
  Told told() {
    return server.told();
  }
}
