package io.trunkcall;

import io.trunkcall.internal.transport.Acceptor;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.ConnectionEvents;
import io.trunkcall.internal.transport.ListenOptions;
import io.trunkcall.internal.transport.Listener;
import io.trunkcall.internal.transport.Protocol;
import io.trunkcall.internal.transport.TlsSource;
import io.trunkcall.internal.transport.http.Http1;
import io.trunkcall.internal.transport.http.Http2;
import io.trunkcall.internal.transport.http.HttpConfig;
import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.SessionConfig;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Owns listeners and the handlers of methods; calls its clients over their connections ({@link
 * #connections}, and in a handler {@link ServerCall#connection}). May be used by any thread.
 */
public final class Server implements AutoCloseable {
  private static final long CUT_OFF = 1_000_000; // µs that peers have to hear that they are cut off

  private final Serving serving;
  private final Calling calling;
  private final SessionConfig config;
  private final Told told;
  private final @Nullable HandlerExecutor ownExecutor;
  private final ListenOptions options;
  private final List<String> where;
  private final UserProtocols protocols;
  private final Publishing publishing;
  private final long maxConnectionAge;
  private final long drainDelay;
  private final Acceptor acceptor = new Accepting();
  private final Set<ServingEnd> ends = ConcurrentHashMap.newKeySet();
  private final LongAdder rejected = new LongAdder();

  private final Milestone leaving = new Milestone();
  private final Milestone stopping = new Milestone();
  private final CompletableFuture<@Nullable Void> stopped = new CompletableFuture<>();

  private final ReentrantLock lock = new ReentrantLock(); // nothing waits under it but listening
  private final List<Listener> listeners = new ArrayList<>(); // guarded by lock
  private boolean closing; // guarded by lock: no more listeners
  private volatile boolean aborting; // connections that still come are closed at once

  Server(ServerBuilder builder) {
    this.calling = builder.calling();
    this.told = new Told(builder.observer, calling.dropped);
    TlsSource tls = builder.tls == null ? null : builder.tls.forServers();
    this.where = List.copyOf(builder.addresses);
    this.maxConnectionAge = builder.maxConnectionAge;
    this.drainDelay = builder.drainDelay;
    this.ownExecutor = builder.executor == null ? builder.ownExecutor() : null;
    this.serving = builder.serving("server", ownExecutor, calling.packing);
    this.config = builder.config(serving.load);
    ListenOptions plain =
        ListenOptions.plain()
            .tls(tls, builder.allowCleartext)
            .limits(builder.maxConnections, builder.maxConnectionsPerAddress)
            .proxied(builder.proxyProtocol);
    this.protocols =
        new UserProtocols(this, serving, calling, builder.protocols, builder.nativeOnly);
    this.options =
        builder.nativeOnly ? plain.protocols(protocols.onPort()) : withHttp(plain, builder);
    this.publishing = new Publishing(this, builder.registrars);
    serving.register(builder.handlers);
  }

  private ListenOptions withHttp(ListenOptions plain, ServerBuilder builder) {
    HttpConfig http =
        new HttpConfig(
            () -> new HttpEnd(this, serving, calling),
            config,
            builder.httpCodecs(),
            config.codecList(),
            serving.packing.order(),
            List.copyOf(builder.origins),
            builder.clock,
            builder.tick);
    List<Protocol> all = new ArrayList<>(List.of(new Http2(http), new Http1(http)));
    all.addAll(protocols.onPort());
    return plain.origins(List.copyOf(builder.origins)).protocols(all);
  }

  SessionConfig config() {
    return config;
  }

  boolean isStopping() {
    return stopping.isDone();
  }

  /** A builder of a server. */
  public static ServerBuilder builder() {
    return new ServerBuilder();
  }

  /**
   * Serves more methods; connections that are open have them too.
   *
   * @throws IllegalArgumentException if one of them is served already; then none is added
   */
  public void register(Handler... handlers) {
    serving.register(List.of(handlers));
    publishing.publishAgain();
  }

  /** The methods that are served, by name. */
  public List<Method<?, ?>> methods() {
    return serving.methods();
  }

  /** How many handlers run now, those included whose call was ended already. Any thread. */
  public int running() {
    return serving.load.running();
  }

  /** The names of the services that have a method, sorted. */
  public List<String> services() {
    return serving.services();
  }

  // Listening.

  /**
   * Listens where the builder said, and serves. Does not wait.
   *
   * @throws IOException where it cannot listen
   * @throws RuntimeException with which a registrar refuses to publish it; it does not listen then
   */
  public Server start() throws IOException {
    protocols.start();
    List<Listener> made = new ArrayList<>();
    for (String one : where) {
      made.add(begin(one, () -> Listener.listen(one, options, acceptor)));
    }
    if (!made.isEmpty()) {
      publish(made);
    } else if (protocols.none() && addresses().isEmpty()) {
      Journal.LOGGER.log(System.Logger.Level.WARNING, Failures.NOWHERE);
    }
    return this;
  }

  /**
   * Listens where the builder said, and serves until the server has been stopped: it returns when
   * {@link #stop} or {@link #close} is done, so that a program may then exit without losing a call.
   *
   * @throws IOException where it cannot listen
   * @throws StatusException CANCELLED when the thread is interrupted; the server goes on
   */
  public void serve() throws IOException {
    Blocking.refuseOnLoop();
    start();
    Blocking.getNullable(stopped.copy()); // which an interrupt cancels, for nobody else
  }

  /**
   * Listens on one more address, see {@link ServerBuilder#listen}, and gives it in the same form,
   * with the port that was free.
   *
   * @throws IOException where it cannot
   * @throws IllegalStateException once the server was stopped
   * @throws RuntimeException with which a registrar refuses to publish it
   */
  public String listen(String address) throws IOException {
    return listen(address, () -> Listener.listen(address, options, acceptor));
  }

  /**
   * Listens on a socket that was bound before, of TCP or a Unix socket, such as one that the
   * process was started with. The server has it from then on, and closes it; a Unix socket's file
   * goes with it.
   *
   * @throws IOException where it cannot
   * @throws IllegalArgumentException for a channel that is not bound
   * @throws IllegalStateException once the server was stopped
   */
  public String listen(ServerSocketChannel bound) throws IOException {
    SocketAddress where = bound.getLocalAddress();
    if (where == null) {
      throw new IllegalArgumentException("listen: the channel is not bound");
    }
    return listen(where.toString(), () -> Listener.adopt(bound, options, acceptor));
  }

  /** Begins to listen. */
  private interface Begin {
    Listener begin() throws IOException;
  }

  private String listen(String address, Begin begin) throws IOException {
    Listener made = begin(address, begin);
    publish(List.of(made));
    return made.address();
  }

  /** Has the server published. If that fails, what has just begun to listen is closed. */
  private void publish(List<Listener> made) {
    publishing.publish(() -> unlisten(made));
  }

  private void unlisten(List<Listener> made) {
    lock.lock();
    try {
      listeners.removeAll(made);
    } finally {
      lock.unlock();
    }
    made.forEach(Listener::close);
  }

  private Listener begin(String address, Begin begin) throws IOException {
    Blocking.refuseOnLoop();
    protocols.start();
    Listener made;
    try {
      made = begin(begin);
    } catch (IOException e) {
      Journal.LOGGER.log(System.Logger.Level.ERROR, Failures.notListening(address, e));
      told.listenFailed(address, e);
      throw e;
    }
    Journal.LOGGER.log(System.Logger.Level.INFO, "listening on " + made.address());
    told.listening(made.address());
    return made;
  }

  private Listener begin(Begin begin) throws IOException {
    lock.lock();
    try {
      if (closing) {
        throw new IllegalStateException("the server has been stopped");
      }
      Listener made = begin.begin();
      if (serving.file != null) {
        serving.file.watch(told);
      }
      listeners.add(made);
      return made;
    } finally {
      lock.unlock();
    }
  }

  /** The addresses that are listened on. */
  public List<String> addresses() {
    lock.lock();
    try {
      return listeners.stream().map(Listener::address).toList();
    } finally {
      lock.unlock();
    }
  }

  /** The port of the first TCP listener, 0 without one. */
  public int port() {
    lock.lock();
    try {
      return listeners.stream()
          .mapToInt(Listener::port)
          .filter(port -> port > 0)
          .findFirst()
          .orElse(0);
    } finally {
      lock.unlock();
    }
  }

  /** The connections that are up: those whose clients can be called. */
  public List<Connection> connections() {
    return ends.stream().filter(one -> !one.isYoung()).map(ServingEnd::caller).toList();
  }

  /** What the server has at the moment. */
  public CompletableFuture<Gauges> gauges() {
    Summing sum = new Summing();
    List<CompletableFuture<?>> all = new ArrayList<>();
    for (ServingEnd one : ends) {
      CompletableFuture<@Nullable Void> added = new CompletableFuture<>();
      all.add(added);
      one.line()
          .submit(
              () -> {
                if (!one.line().lost()) {
                  one.addTo(sum);
                }
                added.complete(null);
              });
    }
    return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new))
        .thenApply(done -> sum.gauges(serving, calling, rejected.sum(), 0));
  }

  /**
   * Done when {@link #stop} or {@link #close} begins. From then on health checks should fail,
   * although the server still serves for the drain delay. Only the server completes it: a limit of
   * time is for a {@link CompletableFuture#copy copy}.
   */
  public CompletableFuture<@Nullable Void> leaving() {
    return leaving;
  }

  /**
   * Done when the server takes no more calls. A handler whose stream has no end of its own should
   * end it then.
   */
  public CompletableFuture<@Nullable Void> stopping() {
    return stopping;
  }

  // Stopping.

  /** Stops with the default grace of 30 s. */
  public boolean stop() {
    return stop(Configs.DRAIN_GRACE);
  }

  /**
   * Ends the server without losing a call: stops listening, asks its peers to open no more calls,
   * waits until those that run are answered and the one-way calls that were accepted are done, and
   * closes. Handlers may still call their callers meanwhile. Before all that registrars withdraw
   * it, for 5 s at most, and then the drain delay passes; {@code grace} begins after it. What is
   * left then is cut off. True: nothing was.
   *
   * @throws IllegalStateException on an event loop, or in a handler of the server
   */
  public boolean stop(Duration grace) {
    long micros = Checks.micros("grace", grace);
    refuseInside();
    if (leaving.reach()) {
      Waiting.done(CompletableFuture.anyOf(publishing.withdraw(), stopping), Publishing.WITHIN);
      Waiting.done(stopping, drainDelay);
    }
    beginToStop();
    long until = Clock.micros() + micros;
    ends.forEach(one -> one.line().submit(() -> drain(one)));
    boolean all = gone(until);
    if (!all) {
      ends.forEach(one -> one.line().submit(() -> one.line().graceOver()));
      gone(Clock.micros() + CUT_OFF);
    } else {
      all = Waiting.done(serving.idle(), Math.max(until - Clock.micros(), 0));
    }
    close();
    return all;
  }

  private static void drain(ServingEnd end) {
    if (!end.line().lost() && !end.isDraining()) {
      end.drain("this side drains");
    }
  }

  /**
   * Ends the server at once: running calls lose their connection and their handlers are
   * interrupted, while registrars withdraw it for a second at most. Returns when the handlers have,
   * or at once when the thread is interrupted.
   *
   * @throws IllegalStateException on an event loop, or in a handler of the server
   */
  @Override
  public void close() {
    refuseInside();
    long withdrawn = Clock.micros() + Publishing.CLOSING;
    CompletableFuture<?> withdrawing = publishing.withdraw();
    aborting = true;
    beginToStop();
    for (ServingEnd one : ends) {
      one.line().submit(() -> one.line().abort("the server has been stopped"));
    }
    gone(Long.MAX_VALUE);
    Waiting.done(withdrawing, Math.max(withdrawn - Clock.micros(), 0));
    CompletableFuture<?> over =
        serving
            .end()
            .thenRun(
                () -> {
                  if (ownExecutor != null) {
                    ownExecutor.shutdown();
                  }
                  stopped.complete(null);
                });
    Waiting.done(over, Long.MAX_VALUE);
  }

  private void refuseInside() {
    Blocking.refuseOnLoop();
    if (CurrentCall.get() instanceof ServingCall one && one.serving() == serving) {
      throw new IllegalStateException(
          "a handler cannot wait for the end of its own server: leave that to another thread");
    }
  }

  private void beginToStop() {
    leaving.reach();
    stopping.reach();
    if (serving.file != null) {
      serving.file.end();
    }
    lock.lock();
    try {
      closing = true;
      listeners.forEach(Listener::close);
      listeners.clear();
    } finally {
      lock.unlock();
    }
  }

  /** Waits until all connections are gone, also those that come late. */
  private boolean gone(long until) {
    while (true) {
      CompletableFuture<?>[] all =
          ends.stream().map(one -> one.gone).toArray(CompletableFuture<?>[]::new);
      if (all.length == 0) {
        return true;
      }
      long left = until == Long.MAX_VALUE ? until : Math.max(until - Clock.micros(), 0);
      if (!Waiting.done(CompletableFuture.allOf(all), left)) {
        return false;
      }
    }
  }

  // What its ends tell.

  /** An end is there, which {@code retire} has end at its age. */
  void connected(ServingEnd end, Runnable retire) {
    end.age(maxConnectionAge, retire);
    ends.add(end);
    if (aborting) {
      end.line().abort("the server has been stopped");
    } else if (stopping.isDone()) {
      end.line().submit(() -> drain(end));
    }
  }

  /** An end is over; {@code told}: observers had heard of it. */
  void disconnected(ServingEnd end, String reason, boolean told) {
    end.ageNoMore();
    serving.journal.log(
        System.Logger.Level.DEBUG, "disconnected", end.line().remote() + ": " + reason, null);
    end.over(reason, told);
    ends.remove(end);
  }

  Told told() {
    return told;
  }

  /** What its listeners ask. */
  private final class Accepting implements Acceptor {
    @Override
    public ConnectionEvents accept() {
      return new ServerEnd(Server.this, serving, calling);
    }

    @Override
    public SessionConfig config() {
      return config;
    }

    @Override
    public MethodTable methods() {
      return serving.table();
    }

    @Override
    public void rejected(String remote, String why) {
      rejected.increment();
      serving.journal.log(
          System.Logger.Level.WARNING,
          "connection rejected",
          (remote.isEmpty() ? "a client" : remote) + ": " + why,
          null);
    }

    @Override
    public void paused(String why) {
      serving.journal.log(System.Logger.Level.WARNING, "accepting pauses", why, null);
    }
  }
}
