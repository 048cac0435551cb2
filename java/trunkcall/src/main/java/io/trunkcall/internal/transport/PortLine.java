package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.internal.wire.SessionConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * A connection of a protocol that is not ours: streams of bytes for a thread that may wait in them.
 * Its loop owns it, but for the streams.
 */
public final class PortLine extends ChannelInboundHandlerAdapter implements Line {
  private static final int PIECE = 64 << 10; // bytes that are written at a time
  private static final int LINGER = 1; // s in which what still comes is read, behind the last bytes

  /** Who serves it. On its loop. */
  public interface Owner {
    /** It is up. */
    void connected(PortLine line);

    /** It should end once what has begun is answered. */
    void drains();

    /** What has not ended is to be cut off. */
    void graceOver();

    /** It is gone: once. */
    void disconnected(String why);
  }

  private final Channel channel;
  private final long patience; // µs in which a peer has to take what is sent; 0: for ever
  private final EventLoop loop;
  private final Owner owner;
  private final LoopQueue queue;
  private final Incoming incoming;
  private final long since;
  private final String remote;
  private final String local;
  private final @Nullable SslHandler tls;
  private boolean lost;
  private boolean closing; // behind what was written, or at once
  private String why = "";
  private @Nullable Throwable fault;

  private PortLine(Channel channel, long since, Owner owner, long patience) {
    this.channel = channel;
    this.patience = patience;
    this.loop = channel.eventLoop();
    this.owner = owner;
    this.queue = new LoopQueue(loop, channel::flush);
    this.incoming = new Incoming(on -> loop.execute(() -> channel.config().setAutoRead(on)));
    this.since = since;
    this.remote = Spelling.remote(channel);
    this.local = Spelling.local(channel);
    this.tls = channel.pipeline().get(SslHandler.class);
  }

  /** A protocol whose connections are of this kind, as listeners know it. */
  public static Protocol protocol(
      List<String> alpn,
      Function<byte[], Protocol.Guess> recognize,
      SessionConfig config,
      Supplier<Owner> owners) {
    return protocol(alpn, recognize, Carrier.patience(config), owners);
  }

  /** The same, whose peers have so many µs to take what is sent; 0: for ever. */
  static Protocol protocol(
      List<String> alpn,
      Function<byte[], Protocol.Guess> recognize,
      long patience,
      Supplier<Owner> owners) {
    return new Protocol() {
      @Override
      public List<String> alpn() {
        return alpn;
      }

      @Override
      public boolean speaksFirst() {
        return true;
      }

      @Override
      public Guess recognize(byte[] first) {
        return recognize.apply(first);
      }

      @Override
      public void serve(Channel channel, long since, Listener listener) {
        Owner owner = owners.get();
        PortLine line = new PortLine(channel, since, owner, patience);
        channel.pipeline().addLast("port", line);
        owner.connected(line);
      }
    };
  }

  // For the thread that serves it.

  /** What comes. */
  public InputStream input() {
    return incoming;
  }

  /** Has the input end behind what has come. */
  public void endInput() {
    incoming.end(null);
  }

  /** What goes. */
  public OutputStream output() {
    return outgoing;
  }

  private final OutputStream outgoing =
      new OutputStream() {
        @Override
        public void write(int one) throws IOException {
          write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
          Objects.checkFromIndexSize(offset, length, bytes.length);
          for (int at = 0; at < length; at += PIECE) {
            send(bytes, offset + at, Math.min(PIECE, length - at));
          }
        }
      };

  private void send(byte[] bytes, int offset, int length) throws IOException {
    if (Loops.onLoop()) {
      throw new IllegalStateException(
          "writing to a connection waits, which nobody may on an event loop: leave it to another"
              + " thread");
    }
    ByteBuf piece = channel.alloc().buffer(length).writeBytes(bytes, offset, length);
    ChannelFuture sent = channel.writeAndFlush(piece);
    try {
      if (patience == 0) {
        sent.await();
      } else if (!sent.await(patience, TimeUnit.MICROSECONDS)) {
        String why = "the peer does not read what is sent: nothing for " + patience / 1_000 + " ms";
        submit(() -> abort(why));
        throw new IOException(why);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while bytes were written");
    }
    if (!sent.isSuccess()) {
      throw new IOException(Faults.text(sent.cause()), sent.cause());
    }
  }

  // What Netty calls.

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof ByteBuf bytes && !closing) {
      incoming.add(bytes);
      return;
    }
    ReferenceCountUtil.release(message);
    if (message == Carrier.END_OF_INPUT) {
      inputEnded();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent || event instanceof SslCloseCompletionEvent) {
      inputEnded();
    }
  }

  private void inputEnded() {
    incoming.end(null);
    if (closing) {
      channel.close();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (fault == null) {
      fault = cause;
    }
    abort(Faults.text(cause));
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    if (lost) {
      return;
    }
    lost = true;
    Throwable cause = fault;
    incoming.end(cause == null ? null : new IOException(Faults.text(cause), cause));
    owner.disconnected(why.isEmpty() ? "closed by the peer" : why);
  }

  // As the layers above have it.

  @Override
  public EventLoop loop() {
    return loop;
  }

  @Override
  public void submit(Runnable work) {
    queue.submit(work);
  }

  @Override
  public String remote() {
    return remote;
  }

  @Override
  public String local() {
    return local;
  }

  @Override
  public @Nullable SSLSession tls() {
    return tls == null ? null : tls.engine().getSession();
  }

  @Override
  public long began() {
    return since;
  }

  @Override
  public void schedule() {}

  @Override
  public boolean lost() {
    return lost;
  }

  @Override
  public @Nullable Throwable fault() {
    return fault;
  }

  @Override
  public void drain() {
    owner.drains();
  }

  @Override
  public void graceOver() {
    owner.graceOver();
    closeBehind("the server has been stopped");
  }

  @Override
  public void abort(String because) {
    if (!lost) {
      because(because);
      closing = true;
      Carrier.closeAtOnce(channel);
    }
  }

  /** Closes when what was written has left. */
  public void closeBehind(String because) {
    incoming.drop();
    if (lost || closing) {
      return;
    }
    because(because);
    closing = true;
    channel
        .config()
        .setAutoRead(true); // what is unread at the close would cost the peer its answer
    channel.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(done -> loop.execute(this::linger));
  }

  private void linger() {
    if (tls == null && !incoming.isEnded() && channel instanceof DuplexChannel duplex) {
      duplex.shutdownOutput();
      loop.schedule((Runnable) channel::close, LINGER, TimeUnit.SECONDS);
    } else {
      channel.close();
    }
  }

  private void because(String text) {
    if (why.isEmpty()) {
      why = text;
    }
  }
}
