package io.trunkcall;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.client.Connector;
import io.trunkcall.internal.client.Endpoints;
import io.trunkcall.internal.client.Link;
import io.trunkcall.internal.client.Listener;
import io.trunkcall.internal.client.Opener;
import io.trunkcall.internal.client.Target;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.Clockwork;
import io.trunkcall.internal.transport.Dial;
import io.trunkcall.internal.transport.Dialing;
import io.trunkcall.internal.transport.LoopClockwork;
import io.trunkcall.internal.transport.Loops;
import io.trunkcall.internal.transport.OpenChannel;
import io.trunkcall.internal.transport.TlsSource;
import io.trunkcall.internal.wire.SessionConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Owns the connections to the endpoints of one target and calls methods there. What is registered
 * with it, its servers can call over those connections. May be used by any thread.
 *
 * <p>Its connections, and all that it does by itself, belong to one event loop of the process.
 */
public final class Client extends Calls implements AutoCloseable {
  private final EventLoop loop;
  private final Clockwork clockwork;
  private final Target target;
  private final Serving serving;
  private final SessionConfig config;
  private final @Nullable TlsSource tls;
  private final String serverName;
  private final @Nullable Dialer dialer;
  private final System.Logger.Level unreachedLevel;
  private final Told told;
  private final @Nullable HandlerExecutor ownExecutor;
  private final Endpoints endpoints;
  private final Set<ClientEnd> live = ConcurrentHashMap.newKeySet();
  private final LongAdder connectFailures = new LongAdder();

  // On the loop.
  private final Set<OpeningCall> watching = new LinkedHashSet<>(); // calls without a connection
  private final List<CompletableFuture<@Nullable Void>> connecting = new ArrayList<>();

  private volatile boolean closed;
  private volatile boolean stopped; // the endpoints were

  Client(ClientBuilder builder, Target target) {
    super(builder.calling());
    this.target = target;
    this.dialer = builder.dialer;
    this.unreachedLevel = builder.unreachedLevel;
    this.loop = dialer == null ? Loops.next() : Loops.nextNio();
    this.clockwork = new LoopClockwork(loop);
    this.tls = builder.tls == null ? null : builder.tls.forClients();
    this.serverName = builder.serverName;
    this.told = new Told(builder.observer, calling.dropped);
    this.ownExecutor = builder.executor == null ? builder.ownExecutor() : null;
    this.serving = builder.serving("client", ownExecutor, calling.packing);
    this.config = builder.config(serving.load);
    serving.register(builder.handlers);
    this.endpoints =
        new Endpoints(
            clockwork,
            target,
            builder.balancer,
            this::open,
            new Changes(),
            new Endpoints.Settings(
                builder.connections, builder.mostEndpoints, builder.idleTimeout));
    if (calling.file != null) {
      calling.file.watch(told);
    }
  }

  /**
   * A builder of a client. {@code target} is one of:
   *
   * <ul>
   *   <li>{@code HOST:PORT}, {@code unix:PATH}, {@code ws://HOST:PORT/PATH} or {@code
   *       wss://HOST:PORT/PATH}, or several of them separated by commas, each of which is an
   *       endpoint;
   *   <li>{@code mem:NAME}, what a server of this process listens on: no socket and no TLS;
   *   <li>{@code dns:HOST:PORT}, of which each address of the name is an endpoint;
   *   <li>{@code SCHEME:REST}, which the resolver given for that scheme turns into endpoints.
   * </ul>
   */
  public static ClientBuilder builder(String target) {
    return new ClientBuilder(target);
  }

  /** A client with the defaults. */
  public static Client of(String target) {
    return builder(target).build();
  }

  /** What it was made for. */
  public String target() {
    return target.text();
  }

  /** Whether it was given TLS, which all its connections over sockets then have. */
  public boolean secure() {
    return tls != null;
  }

  /**
   * Serves methods to its servers, over its own connections.
   *
   * @throws IllegalArgumentException if one of them is served already; then none is added
   */
  public void register(Handler... handlers) {
    serving.register(List.of(handlers));
  }

  /** The methods that it serves, by name. */
  public List<Method<?, ?>> methods() {
    return serving.methods();
  }

  /** The names of the services that have a method of those, sorted. */
  public List<String> services() {
    return serving.services();
  }

  /** How many handlers run now, those included whose call was ended already. */
  public int running() {
    return serving.load.running();
  }

  /** The connections that are up: those over which the server can call, and can be called. */
  public List<Connection> connections() {
    return live.stream().filter(one -> !one.isYoung()).map(End::caller).toList();
  }

  /** How the client stands with each endpoint that it uses. */
  public CompletableFuture<List<EndpointGauges>> endpoints() {
    CompletableFuture<List<EndpointGauges>> found = new CompletableFuture<>();
    WatchedPolicyFile file = calling.file;
    hand(
        () ->
            found.complete(endpoints.gauges(file == null ? Map.of() : file.current().outliers())));
    return found;
  }

  /** What the client has at the moment. */
  public CompletableFuture<Gauges> gauges() {
    CompletableFuture<Gauges> found = new CompletableFuture<>();
    hand(
        () -> {
          Summing sum = new Summing();
          live.forEach(one -> sum.add(one.carrier().session()));
          found.complete(sum.gauges(serving, calling, 0, connectFailures.sum()));
        });
    return found;
  }

  // Opening and closing.

  /**
   * Opens the connections that are not open, of a lazy balancer to the first endpoint that will do.
   * Done when each is open or has failed once, and a server has greeted. Fails with {@link
   * StatusException}, UNAVAILABLE, if no endpoint is ready then; with a single endpoint if any of
   * its connections has failed.
   */
  public CompletableFuture<@Nullable Void> connect() {
    CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
    hand(
        () -> {
          connecting.add(done);
          lookWhetherConnected();
        });
    return done;
  }

  private void lookWhetherConnected() {
    if (connecting.isEmpty()) {
      return;
    }
    StatusException failure = null;
    try {
      if (closed) {
        failure = Failures.local(Code.CANCELLED, CLOSED, Delivery.NOT_SENT);
      } else if (!endpoints.connected()) {
        return;
      }
    } catch (StatusException e) {
      failure = e;
    } catch (Throwable e) { // who waits hears of it, whatever it is
      failure = Failures.local(Code.INTERNAL, Failures.spelled(e), Delivery.NOT_SENT);
      failure.initCause(e);
    }
    List<CompletableFuture<@Nullable Void>> all = List.copyOf(connecting);
    connecting.clear();
    for (CompletableFuture<@Nullable Void> one : all) {
      if (failure == null) {
        one.complete(null);
      } else {
        one.completeExceptionally(failure);
      }
    }
  }

  /**
   * Ends the client: calls that run end CANCELLED, connections are closed, handlers are
   * interrupted. Returns when all are done; on an event loop, in one of its handlers, or when the
   * thread is interrupted, at once.
   */
  @Override
  public void close() {
    closed = true;
    CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
    hand(() -> closeNow(done));
    ServerCall within = CurrentCall.get();
    boolean inside = within instanceof ServingCall one && one.serving() == serving;
    if (!Loops.onLoop() && !inside) {
      Waiting.done(done, Long.MAX_VALUE);
    }
  }

  private void closeNow(CompletableFuture<@Nullable Void> done) {
    stop();
    List<CompletableFuture<?>> gone = new ArrayList<>();
    for (ClientEnd one : live) {
      gone.add(one.gone);
      one.carrier().session().setNow(Clock.micros());
      one.carrier().session().cancelAll(Code.CANCELLED, CLOSED);
      one.carrier().shut(CLOSED);
    }
    CompletableFuture.allOf(gone.toArray(CompletableFuture<?>[]::new))
        .thenCompose(all -> serving.end())
        .whenComplete(
            (all, error) -> {
              if (ownExecutor != null) {
                ownExecutor.shutdown();
              }
              done.complete(null);
            });
  }

  private void stop() {
    if (!stopped) {
      stopped = true;
      endpoints.stop();
      lookWhetherConnected();
      List<OpeningCall> waiting = List.copyOf(watching);
      watching.clear();
      waiting.forEach(OpeningCall::closed);
      List<Pausing> pausing = List.copyOf(calling.pausing);
      calling.pausing.clear();
      pausing.forEach(Pausing::closed);
      if (calling.file != null) {
        calling.file.end();
      }
    }
  }

  /**
   * Ends the client in order: no call begins any more, those that run are waited for, for {@code
   * grace} at most; then it is closed. True: none was cut off.
   *
   * @throws IllegalStateException on an event loop
   */
  public boolean drain(Duration grace) {
    Blocking.refuseOnLoop();
    long micros = Checks.micros("grace", grace);
    closed = true;
    CompletableFuture<CompletableFuture<@Nullable Void>> begun = new CompletableFuture<>();
    hand(
        () -> {
          stop();
          List<CompletableFuture<?>> gone = new ArrayList<>();
          for (ClientEnd one : live) {
            gone.add(one.gone);
            one.drain();
          }
          begun.complete(CompletableFuture.allOf(gone.toArray(CompletableFuture<?>[]::new)));
        });
    boolean all = Waiting.done(Blocking.get(begun), micros);
    close();
    return all;
  }

  // What its ends tell.

  void connected(ClientEnd end) {
    live.add(end);
    if (closed && stopped) {
      end.carrier().abort(CLOSED);
    }
  }

  void disconnected(ClientEnd end) {
    live.remove(end);
  }

  private CompletableFuture<ClientEnd> open(Connector connector, Opener.Dialled what) {
    Dialer user = dialer;
    OpenChannel opens = user == null ? null : address -> user.dial(address, what.endpoint());
    Dialing dialing =
        new Dialing(
            loop,
            what.addresses(),
            () -> new ClientEnd(this, connector),
            config,
            serving.table(),
            tls,
            serverName.isEmpty() ? what.endpoint().serverName() : serverName,
            opens,
            what.greet() ? carrier -> end(carrier).greeting : null,
            what.alone());
    return CallFuture.of(Dial.dial(dialing), Client::end);
  }

  private static ClientEnd end(Carrier carrier) {
    return (ClientEnd) carrier.events();
  }

  Serving serving() {
    return serving;
  }

  Clockwork clockwork() {
    return clockwork;
  }

  Told told() {
    return told;
  }

  Slots slotsOf(ClientEndpoint endpoint) {
    return (Slots) endpoint.slots();
  }

  /** What the keeping of its endpoints tells. */
  private final class Changes implements Listener {
    @Override
    public void changed() {
      List<OpeningCall> all = List.copyOf(watching);
      watching.clear();
      all.forEach(OpeningCall::look);
      lookWhetherConnected();
    }

    @Override
    public Object slots(ClientEndpoint endpoint) {
      return new Slots();
    }

    @Override
    public void tryAgain(ClientEndpoint endpoint) {
      slotsOf(endpoint).tryAgain();
    }

    @Override
    public void connectFailed(Endpoint endpoint, String why) {
      log(unreachedLevel, "no connection: " + why, null);
      connectFailures.increment();
      told.connectFailed(endpoint.toString(), why);
    }

    @Override
    public void log(System.Logger.Level level, String text, @Nullable Throwable fault) {
      serving.journal.log(level, "endpoints", text, fault);
    }
  }

  // For calls.

  @Override
  EventLoop loop() {
    return loop;
  }

  @Override
  void hand(Runnable work) {
    loop.execute(work);
  }

  @Override
  boolean isClosed() {
    return closed;
  }

  @Override
  @Nullable Carrier pick(OpeningCall call) {
    if (closed) {
      throw Failures.local(Code.CANCELLED, CLOSED, Delivery.NOT_SENT);
    }
    Link found = endpoints.pick(call);
    return found instanceof ClientEnd end ? end.carrier() : null;
  }

  @Override
  boolean hopeful(OpeningCall call) {
    return endpoints.hopeful(call);
  }

  @Override
  String noConnection() {
    return endpoints.whyNone();
  }

  @Override
  String trouble() {
    return endpoints.trouble();
  }

  @Override
  String waitsFor() {
    return endpoints.waitsFor();
  }

  @Override
  void watch(OpeningCall call) {
    watching.add(call);
  }

  @Override
  void unwatch(OpeningCall call) {
    watching.remove(call);
  }

  @Override
  void retire(Carrier carrier) {
    // Endpoints give only those that take calls.
  }

  @Override
  Slots slots(Carrier carrier) {
    ClientEndpoint endpoint = end(carrier).endpoint();
    return endpoint == null ? end(carrier).caller().slots : slotsOf(endpoint);
  }

  @Override
  @Nullable ClientEndpoint endpointOf(Carrier carrier) {
    return end(carrier).endpoint();
  }

  @Override
  boolean elsewhere() {
    return endpoints.elsewhere();
  }

  @Override
  boolean mayRepeat(Status status, @Nullable Boolean policy) {
    return policy == null ? calling.repeats : policy;
  }
}
