package io.trunkcall.internal.transport;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The event loops of the process: as many as it has processors, on daemon threads that are started
 * with their first connection. All clients and servers share them.
 */
public final class Loops {
  /** Waits by epoll where the system has it, else by the selectors of the JDK. */
  static final Loops NATIVE = new Loops(sockets(), "trunkcall-loop-", processors());

  final Sockets sockets;
  final EventLoopGroup group;

  Loops(Sockets sockets, String name, int count) {
    this.sockets = sockets;
    this.group =
        new MultiThreadIoEventLoopGroup(count, named(name), MemoryIo.with(sockets.waiting())) {
          @Override
          protected IoEventLoop newChild(
              Executor executor, IoHandlerFactory handlers, Object... more) {
            // The JDK's selectors take away an interrupt that comes while they wait.
            return new TurnLoop(this, executor, handlers, sockets instanceof EpollSockets);
          }
        };
  }

  /** A loop for connections that the system opens. */
  public static EventLoop next() {
    return NATIVE.group.next();
  }

  /** A loop for connections that a user's dialer opens. */
  public static EventLoop nextNio() {
    return nio().group.next();
  }

  /** Whether the current thread is that of an event loop, which nobody may block. */
  public static boolean onLoop() {
    return TurnLoop.turnsOne();
  }

  /** Those that a loop is one of. */
  static Loops of(EventLoop loop) {
    return loop.parent() == NATIVE.group ? NATIVE : nio();
  }

  /** Waits by the selectors of the JDK, for channels that users open. */
  static Loops nio() {
    return NATIVE.sockets instanceof NioSockets ? NATIVE : Nio.LOOPS;
  }

  /** Made when somebody needs it. */
  private static final class Nio {
    static final Loops LOOPS = new Loops(new NioSockets(), "trunkcall-nio-loop-", processors());
  }

  private static int processors() {
    return Runtime.getRuntime().availableProcessors();
  }

  private static Sockets sockets() {
    return Epoll.isAvailable() ? new EpollSockets() : new NioSockets();
  }

  private static ThreadFactory named(String name) {
    AtomicInteger count = new AtomicInteger();
    return work -> {
      Thread made = new LoopThread(work, name + count.incrementAndGet());
      made.setDaemon(true);
      return made;
    };
  }
}
