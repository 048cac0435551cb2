package io.trunkcall;

import io.trunkcall.internal.transport.Loops;
import io.trunkcall.internal.transport.PortLine;
import io.trunkcall.internal.transport.Protocol.Guess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The protocols of its user's that a server has: they start and stop with it. */
final class UserProtocols {
  private static final int LOOKED_AT = 64; // bytes of a beginning that protocols are asked about
  private static final Set<String> TAKEN =
      Set.of("trunk", "grpc", "grpc-web", "connect", "h2", "http/1.1");

  /** What the protocols of a server begin with, which nobody else may take for theirs. */
  private record Beginning(String whose, byte[] first) {
    static Beginning of(String whose, String first) {
      byte[] all = first.getBytes(StandardCharsets.ISO_8859_1);
      return new Beginning(whose, Arrays.copyOf(all, Math.min(all.length, LOOKED_AT)));
    }

    boolean isHttp() {
      return whose.startsWith("HTTP");
    }
  }

  private static final List<Beginning> BEGINNINGS =
      List.of(
          Beginning.of("Trunkcall's own protocol", "\u00f5TK1"),
          Beginning.of("TLS", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000"),
          Beginning.of("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
          Beginning.of("HTTP/1.1", "POST /test.Service/Echo HTTP/1.1\r\nHost: localhost\r\n\r\n"));

  private final Server server;
  private final Serving serving;
  private final Calling calling;
  private final List<One> all = new ArrayList<>();
  private final ReentrantLock starting = new ReentrantLock(); // one thread starts them at a time
  private int next; // the first that has not started; guarded by starting

  UserProtocols(
      Server server, Serving serving, Calling calling, List<Protocol> given, boolean nativeOnly) {
    this.server = server;
    this.serving = serving;
    this.calling = calling;
    check(given, nativeOnly);
    given.forEach(one -> all.add(new One(one)));
  }

  /** Names what would keep protocols from being reached, or keep others from that. */
  private static void check(List<Protocol> given, boolean nativeOnly) {
    Set<String> names = new HashSet<>(TAKEN);
    Set<String> negotiated = new HashSet<>(Set.of("trunk", "h2", "http/1.1"));
    for (Protocol one : given) {
      String name = one.name();
      if (name.isEmpty() || !names.add(name)) {
        throw wrong("the name \"" + name + "\" is empty or taken");
      }
      if (!(one instanceof PortProtocol port)) {
        continue;
      }
      for (String alpn : port.alpn()) {
        if (alpn.isEmpty() || alpn.length() > 255 || !negotiated.add(alpn)) {
          throw wrong(name + ": the ALPN name \"" + alpn + "\" is empty, too long or taken");
        }
      }
      for (Beginning other : BEGINNINGS) {
        if (!(nativeOnly && other.isHttp())
            && port.recognize(other.first.clone()) == PortProtocol.Recognition.YES) {
          throw wrong(name + ": it takes for its own what " + other.whose + " begins with");
        }
      }
    }
  }

  private static IllegalArgumentException wrong(String text) {
    return new IllegalArgumentException("option protocol: " + text);
  }

  /** Those that clients speak on the port, as listeners ask them. */
  List<io.trunkcall.internal.transport.Protocol> onPort() {
    List<io.trunkcall.internal.transport.Protocol> found = new ArrayList<>();
    for (One one : all) {
      if (one.protocol instanceof PortProtocol port) {
        found.add(onPort(port));
      }
    }
    return found;
  }

  /** Whether the user gave none. */
  boolean none() {
    return all.isEmpty();
  }

  /** Starts those that have not been. One that fails is tried again with the next listener. */
  void start() throws IOException {
    starting.lock();
    try {
      for (; next < all.size(); next++) {
        all.get(next).start();
      }
    } finally {
      starting.unlock();
    }
  }

  private void failed(String what, String name, Throwable why) {
    serving.journal.log(System.Logger.Level.ERROR, what, name, why);
  }

  private Thread thread(String name, Runnable work) {
    Thread thread = new Thread(work, "trunkcall-" + name);
    thread.setDaemon(true);
    return thread;
  }

  /** One of them, with what came by no connection. */
  private final class One implements IncomingCalls {
    final Protocol protocol;
    private final ProtocolEnd home;
    private final ProtocolLine line;
    private final Thread stopping;

    One(Protocol protocol) {
      this.protocol = protocol;
      this.home = new ProtocolEnd(server, serving, calling, protocol.name(), false);
      this.stopping = thread(protocol.name() + "-stop", this::stop);
      this.line = new ProtocolLine(home, Loops.next(), stopping::start, stopping::interrupt);
      home.prepare(line);
    }

    void start() throws IOException {
      try {
        protocol.start(this);
      } catch (Exception e) {
        throw new IOException("protocol " + protocol.name() + ": " + e.getMessage(), e);
      }
      server.connected(home, () -> {}); // it is no connection that ages
    }

    private void stop() {
      try {
        protocol.stop();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt(); // the grace is over
      } catch (Throwable e) {
        failed("a protocol has not stopped in order", protocol.name(), e);
      } finally {
        line.stopped();
      }
    }

    @Override
    public CompletableFuture<Ending> serve(IncomingCall call, Exchange exchange) {
      PortConnection by = call.connection();
      if (by != null && by.end.server != server) {
        throw new IllegalArgumentException("the connection of the call is of another server");
      }
      ProtocolEnd end = by == null ? home : by.end;
      return ProtocolCall.begin(end, by == null ? line : end.line(), call, exchange);
    }

    @Override
    public @Nullable Method<?, ?> method(String name) {
      Served found = serving.find(name);
      return found == null ? null : found.method;
    }
  }

  private io.trunkcall.internal.transport.Protocol onPort(PortProtocol protocol) {
    return PortLine.protocol(
        List.copyOf(protocol.alpn()),
        first -> guess(protocol, first),
        server.config(),
        () ->
            new OnPort(protocol, new ProtocolEnd(server, serving, calling, protocol.name(), true)));
  }

  private Guess guess(PortProtocol protocol, byte[] first) {
    try {
      return switch (protocol.recognize(first)) {
        case NO -> Guess.NO;
        case MORE -> Guess.MORE;
        case YES -> Guess.YES;
      };
    } catch (Throwable e) {
      failed("a protocol failed to recognise its connections", protocol.name(), e);
      return Guess.NO;
    }
  }

  /** A connection of one of them. */
  private final class OnPort implements PortLine.Owner {
    private final PortProtocol protocol;
    private final ProtocolEnd end;
    private @Nullable PortConnection connection;
    private @Nullable Thread thread;

    OnPort(PortProtocol protocol, ProtocolEnd end) {
      this.protocol = protocol;
      this.end = end;
    }

    @Override
    public void connected(PortLine line) {
      PortConnection made = new PortConnection(end, line);
      connection = made;
      Thread serves = thread(protocol.name(), () -> run(made, line));
      thread = serves;
      end.connected(line);
      serves.start();
    }

    private void run(PortConnection made, PortLine line) {
      String why = "the protocol has ended the connection";
      try {
        protocol.serve(made);
      } catch (IOException e) {
        why = String.valueOf(e.getMessage());
      } catch (InterruptedException e) {
        why = "the server has been stopped";
      } catch (Throwable e) {
        failed("a protocol failed to serve a connection", protocol.name(), e);
        why = "the protocol failed";
      }
      String told = why;
      line.submit(
          () -> {
            end.endCalls(Status.of(Code.CANCELLED, "the connection is over"));
            line.closeBehind(told);
          });
    }

    @Override
    public void drains() {
      if (connection != null) {
        connection.isToEnd();
      }
    }

    @Override
    public void graceOver() {
      end.endCalls(Status.of(Code.UNAVAILABLE, "the server has been stopped"));
    }

    @Override
    public void disconnected(String why) {
      end.disconnected(why);
      if (thread != null) {
        thread.interrupt();
      }
    }
  }
}
