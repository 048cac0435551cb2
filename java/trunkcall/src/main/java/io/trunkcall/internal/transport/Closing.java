package io.trunkcall.internal.transport;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** How the channel of a connection is closed: behind what was appended, or at once. On its loop. */
final class Closing {
  private static final long LINGER = 10; // s for the last bytes to leave

  private final Carrier carrier;
  private final Channel channel;
  private final Outlet outlet;
  private final @Nullable SslHandler tls;
  private boolean outputEnded;
  private boolean ended; // the channel is being closed
  private @Nullable ScheduledFuture<?> closeTimer;

  Closing(Carrier carrier, Outlet outlet, @Nullable SslHandler tls) {
    this.carrier = carrier;
    this.channel = carrier.channel();
    this.outlet = outlet;
    this.tls = tls;
  }

  /** Whether nothing more is to be written. */
  boolean outputEnded() {
    return outputEnded;
  }

  /** Whether the channel is being closed. */
  boolean begun() {
    return ended;
  }

  /** Closes at once. */
  void abort() {
    ended = true;
    outputEnded = true;
    Carrier.closeAtOnce(channel);
  }

  /** The channel is gone. */
  void over() {
    outputEnded = true;
    stopTimer();
  }

  private void stopTimer() {
    if (closeTimer != null) {
      closeTimer.cancel(false);
      closeTimer = null;
    }
  }

  /** Half-closes or closes, as the session says, once all is with the channel. */
  void finish() {
    if (ended) {
      return;
    }
    WebSocket webSocket = channel.pipeline().get(WebSocket.class);
    if (webSocket != null && !carrier.session().opened()) {
      webSocket.neverBegan(Clock.micros() - carrier.began() >= Opening.HANDSHAKE);
    }
    if (!channel.isWritable() && !outputEnded) {
      if (closeTimer == null) {
        closeTimer = later(() -> carrier.abort("the last bytes could not be sent"), LINGER);
      }
      return;
    }
    stopTimer(); // there is room: the last bytes go on
    if (carrier.session().closed() || webSocket != null) {
      close();
    } else if (!outputEnded) {
      outputEnded = true;
      behindOutput(this::halfClose);
    }
  }

  private void halfClose() {
    if (carrier.lost() || ended) {
      return;
    }
    if (tls != null) {
      tls.closeOutbound();
    } else if (channel instanceof DuplexChannel duplex) {
      duplex.shutdownOutput();
    } else {
      channel.writeAndFlush(Carrier.END_OF_INPUT);
    }
  }

  /** Closes behind what was appended. */
  void close() {
    if (ended) {
      return;
    }
    ended = true;
    outlet.stopWatching();
    stopTimer();
    closeTimer = later(() -> carrier.abort("the connection did not close"), LINGER);
    boolean opened = !outputEnded;
    outputEnded = true;
    if (opened) {
      behindOutput(channel::close);
    } else {
      channel.close();
    }
  }

  /** Does something when what was written before has left. */
  private void behindOutput(Runnable next) {
    ChannelFuture left = channel.writeAndFlush(Unpooled.EMPTY_BUFFER);
    left.addListener(done -> next.run());
  }

  private ScheduledFuture<?> later(Runnable work, long seconds) {
    return channel.eventLoop().schedule(work, seconds, TimeUnit.SECONDS);
  }
}
