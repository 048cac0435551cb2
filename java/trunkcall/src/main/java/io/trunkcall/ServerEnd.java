package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.wire.ErrorClass;

/** A server's end of one connection. */
final class ServerEnd extends End {
  private final Server server;

  ServerEnd(Server server, Serving serving, Calling calling) {
    super(serving, calling);
    this.server = server;
  }

  @Override
  public void connected(Carrier made) {
    super.connected(made);
    server.connected(this, () -> drain("the connection has reached its maximum age"));
  }

  @Override
  public void disconnected(String reason) {
    server.disconnected(this, reason, !isYoung());
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
  Server server() {
    return server;
  }

  @Override
  Told told() {
    return server.told();
  }
}
