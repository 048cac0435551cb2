package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.Session;
import io.trunkcall.internal.wire.SessionConfig;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * A session joined to a channel of Netty. One event loop owns both, and everything here is used on
 * its thread, except what says otherwise.
 *
 * <p>What a batch appends is written at its end, with one flush: a batch is what the loop reads in
 * one go, or what other threads have handed over by then ({@link #submit}).
 */
public final class Carrier extends ChannelInboundHandlerAdapter implements Line {
  static final System.Logger LOG = System.getLogger("io.trunkcall");

  /** How input ends where the channel has no half-close of its own. */
  static final Object END_OF_INPUT = new Object();

  /** What the channel holds before the session keeps the rest (limits.md 2: pieces). */
  static final WriteBufferWaterMark WATER_MARKS = new WriteBufferWaterMark(32 << 10, 128 << 10);

  private static final long UNACKNOWLEDGED = 60_000_000; // µs, at least (limits.md 3)
  private static final long TURN = 4 << 20; // bytes written before other connections get theirs
  private static final int LEAST_READ = 512; // bytes of a buffer that is read into
  private static final int FIRST_READ = 2 << 10;
  static final int LARGEST_READ = 256 << 10; // four of the longest frames, by default
  private static final int READS = 4; // of that size, before other connections get their turn

  private final Channel channel;
  private final EventLoop loop;
  private final @Nullable TurnLoop turns; // the same
  private final boolean initiator;
  private final ConnectionEvents end;
  private final Session session;
  private final long began;
  private final String remote;
  private final String local;
  private final @Nullable SslHandler tls;
  private final Outlet outlet;
  private final WorkQueue handedOver = new WorkQueue();
  private final Runnable drain = this::drainQueue;
  private final Runnable flush = this::flush;
  private final Ticker ticker;
  private final Closing closing;

  private boolean inBatch; // flushes at its end
  private boolean scheduled; // a flush will come
  private boolean together; // with those of other connections of the loop
  private boolean writing;
  private boolean lost;
  private @Nullable Throwable fault;
  private String why = "";

  private Carrier(
      Channel channel,
      ConnectionEvents end,
      boolean initiator,
      SessionConfig config,
      MethodTable methods,
      long since) {
    this.channel = channel;
    this.loop = channel.eventLoop();
    this.turns = TurnLoop.of(loop);
    this.initiator = initiator;
    this.end = end;
    this.began = since;
    this.session = new Session(end, initiator, since, config, methods);
    Sockets sockets = Loops.of(loop).sockets;
    this.remote = Spelling.remote(channel, sockets);
    this.local = Spelling.local(channel, sockets);
    session.named(remote);
    this.tls = channel.pipeline().get(SslHandler.class);
    this.outlet = new Outlet(channel, session);
    this.ticker = new Ticker(loop, this::tick);
    this.closing = new Closing(this, outlet, tls);
    prepare(sockets, config);
  }

  /**
   * Makes a session of a channel that is connected, with its handshakes done: the last handler of
   * its pipeline, which reads what comes next. On the channel's loop.
   *
   * @param since when the handshake began, by {@link Clock}
   */
  static Carrier attach(
      Channel channel,
      ConnectionEvents end,
      boolean initiator,
      SessionConfig config,
      MethodTable methods,
      long since) {
    Carrier made = new Carrier(channel, end, initiator, config, methods, since);
    end.connected(made);
    made.countChannel(1);
    channel.pipeline().addLast("trunkcall", made);
    made.flush();
    return made;
  }

  private void countChannel(int more) {
    if (initiator && turns != null && channel instanceof DuplexChannel) { // a socket
      turns.lone().channel(more);
    }
  }

  private void prepare(Sockets sockets, SessionConfig config) {
    channel.config().setWriteBufferWaterMark(WATER_MARKS);
    // Netty's own default makes and frees direct memory all the time under messages of a mebibyte.
    channel.config().setAllocator(PooledByteBufAllocator.DEFAULT);
    AdaptiveRecvByteBufAllocator reads =
        new AdaptiveRecvByteBufAllocator(LEAST_READ, FIRST_READ, LARGEST_READ);
    reads.maxMessagesPerRead(READS);
    channel.config().setRecvByteBufAllocator(reads);
    if (channel instanceof SocketChannel socket) {
      socket.config().setTcpNoDelay(true);
      if (config.keepalive() > 0) {
        sockets.userTimeout(channel, (int) Math.min(patience(config) / 1_000, Integer.MAX_VALUE));
      }
    }
  }

  /** After how many µs a peer is given up that reads nothing of what was sent; 0: never. */
  static long patience(SessionConfig config) {
    return config.keepalive() == 0
        ? 0
        : Math.max(config.keepalive() + config.keepaliveAnswer(), UNACKNOWLEDGED);
  }

  // For any thread.

  /** The loop that owns the connection. */
  @Override
  public EventLoop loop() {
    return loop;
  }

  /**
   * Has work done on the loop, in order, with what other threads hand over until then; what it
   * appends is written behind all of it. On the loop itself it is done at the end of the batch, and
   * never within this function. It is done, too, when the connection is {@link #lost}. What extends
   * {@link Work} costs no allocation.
   */
  @Override
  public void submit(Runnable work) {
    if (handedOver.add(work) && !(inBatch && loop.inEventLoop())) {
      loop.execute(drain);
    }
  }

  /** Has the session free memory for others, later. */
  void relieve() {
    submit(
        () -> {
          if (!lost) {
            session.relieve(Clock.micros());
          }
        });
  }

  Channel channel() {
    return channel;
  }

  /** The address of the other end, empty if it has none. */
  @Override
  public String remote() {
    return remote;
  }

  /** The address of this end, empty if it has none. */
  @Override
  public String local() {
    return local;
  }

  /** What TLS has agreed on, null in the clear. */
  @Override
  public @Nullable SSLSession tls() {
    return tls == null ? null : tls.engine().getSession();
  }

  /** Whether TLS has agreed on a protocol (ALPN). */
  public boolean tlsNegotiated() {
    return tls != null && tls.applicationProtocol() != null;
  }

  /** When the handshake began, by {@link Clock}. */
  @Override
  public long began() {
    return began;
  }

  // For the layer above, on the loop.

  /** Who is told of the connection. */
  public ConnectionEvents events() {
    return end;
  }

  /** The session. After something was appended to it, {@link #schedule} is to be called. */
  public Session session() {
    return session;
  }

  /** Whether the transport is gone. */
  @Override
  public boolean lost() {
    return lost;
  }

  /** What the transport was lost by, if that was a fault of its own. */
  @Override
  public @Nullable Throwable fault() {
    return fault;
  }

  /** The error that ended the connection; empty if there was none. */
  public String why() {
    return why;
  }

  /** Sets the error that ends the connection. */
  public void why(String why) {
    this.why = why;
  }

  /**
   * Writes what was appended, at the end of this batch or in the next turn of the loop; to several
   * connections of a client perhaps behind a few looks at the sockets.
   */
  @Override
  public void schedule() {
    if (scheduled) {
      return;
    }
    if (!inBatch && initiator && turns != null) {
      turns.flushLater(flush);
      together = true;
    } else if (!inBatch) {
      loop.execute(flush);
    }
    scheduled = true;
  }

  /** Ends a call of this side, if it has not ended, and drops answers that nobody will take. */
  public void giveUp(OutgoingCall call) {
    session.setNow(Clock.micros());
    call.cancel(Session.GAVE_UP);
    call.discard();
    schedule();
  }

  /**
   * Asks the peer to open no more calls; closes when all are done (protocol.md 11.4, 11.5).
   * Handlers that are to finish may still call.
   */
  @Override
  public void drain() {
    session.drain(Clock.micros(), true);
    flush();
  }

  /** Ends what is still open, tells the peer so, and closes. */
  @Override
  public void graceOver() {
    session.graceOver(Clock.micros());
    flush();
  }

  /** Closes behind what was appended, without waiting for the peer; gives up after a while. */
  public void shut(String why) {
    if (!lost) {
      because(why);
      flush();
      closing.close();
    }
  }

  /** Closes at once; what is unsent is dropped. */
  @Override
  public void abort(String why) {
    if (!lost) {
      because(why);
      closing.abort();
    }
  }

  /** Closes a channel, past the handlers that would say good-bye before. */
  static void closeAtOnce(Channel channel) {
    channel.unsafe().close(channel.voidPromise());
  }

  private void because(String text) {
    if (why.isEmpty()) {
      why = text;
    }
  }

  // What Netty calls.

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message == END_OF_INPUT) {
      endOfInput();
    } else if (message instanceof ByteBuf buffer) {
      inBatch = true;
      try {
        receive(buffer);
      } finally {
        buffer.release();
      }
    } else {
      ReferenceCountUtil.release(message);
    }
  }

  private void receive(ByteBuf buffer) {
    long now = Clock.micros();
    if (buffer.hasArray()) {
      int offset = buffer.arrayOffset() + buffer.readerIndex();
      session.receive(buffer.array(), offset, buffer.readableBytes(), now);
      return;
    }
    byte[] input = turns == null ? new byte[buffer.readableBytes()] : turns.input();
    while (buffer.isReadable()) {
      int length = Math.min(buffer.readableBytes(), input.length);
      buffer.readBytes(input, 0, length);
      session.receive(input, 0, length, now);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (!lost) {
      inBatch = true;
      session.dispatch(Clock.micros());
    }
    drainQueue();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event == ChannelInputShutdownEvent.INSTANCE || event instanceof SslCloseCompletionEvent) {
      endOfInput();
    }
    context.fireUserEventTriggered(event);
  }

  private void endOfInput() {
    if (!lost) {
      session.endOfStream(Clock.micros());
      flush();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    if (channel.isWritable() && !writing && !lost) {
      outlet.account();
      flush();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (fault == null && !closing.begun()) {
      fault = cause;
    }
    closeAtOnce(channel);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    lost = true;
    countChannel(-1);
    ticker.stop();
    closing.over();
    String told = fault == null ? "closed" : Faults.text(fault);
    String text = why.isEmpty() ? told : why;
    try {
      session.lost(Clock.micros(), text);
    } finally {
      end.disconnected(why.isEmpty() ? told : why); // or its server would wait for it for ever
    }
    inBatch = false;
    drainQueue();
  }

  // What other threads hand over.

  private void drainQueue() {
    inBatch = true;
    try {
      // Again for what the loop's own work hands over; for others' the loop was woken.
      for (int round = 0; round < 16 && !handedOver.isEmpty(); round++) {
        runAll();
      }
    } finally {
      inBatch = false;
    }
    if (!handedOver.isEmpty()) {
      loop.execute(drain);
    }
    if (!together) {
      flush();
    }
  }

  private void runAll() {
    if (!lost) {
      session.setNow(Clock.micros());
    }
    Work work = handedOver.takeAll();
    while (work != null) {
      Work behind = work.next;
      work.next = null; // it may be handed over again from now on
      try {
        work.run();
      } catch (Throwable thrown) {
        LOG.log(System.Logger.Level.ERROR, "work on a connection failed", thrown);
      }
      work = behind;
    }
  }

  // Writing and time.

  private void flush() {
    scheduled = false;
    together = false;
    if (lost || writing) {
      return;
    }
    session.setNow(Clock.micros());
    if (channel.isWritable() && !closing.outputEnded()) {
      write();
    }
    if ((session.halfClose() || session.closed()) && !scheduled && !lost) {
      closing.finish();
    }
    if (!lost) {
      ticker.by(Math.min(session.nextDeadline(), outlet.lookAt()));
    }
  }

  private void write() {
    writing = true; // to write may tell of writability, and of the end
    try {
      long given = 0;
      while (!lost) {
        long size = outlet.writeAll();
        if (size == 0) {
          outlet.watch();
          return;
        }
        given += size;
        if (!channel.isWritable()) {
          outlet.accountExactly();
          outlet.watch();
          return;
        }
        outlet.account();
        if (given >= TURN) {
          schedule();
          return;
        }
      }
    } finally {
      writing = false;
    }
  }

  private void tick(long now) {
    session.tick(now);
    if (outlet.standsStill(now)) {
      abort("the peer has read nothing for 60 s of what is there for it");
    }
    flush();
  }
}
