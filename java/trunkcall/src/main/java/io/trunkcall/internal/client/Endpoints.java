package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.Endpoint;
import io.trunkcall.EndpointGauges;
import io.trunkcall.Pick;
import io.trunkcall.State;
import io.trunkcall.internal.transport.Clockwork;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The endpoints of a client: the set that there is, how each stands, and where a call goes
 * (client.md 7 to 10). Used on the client's loop only; balancers and pickers of users run there
 * too.
 */
public final class Endpoints {
  /**
   * How many connections each endpoint has, how many endpoints are used at a time (0: all), and
   * after how long without a call connections are closed (zero: never).
   */
  public record Settings(int connections, int most, Duration idleTimeout) {}

  final Clockwork clockwork;
  private final String target; // for people
  final Opener opener;
  final Listener listener;
  final RandomGenerator random;
  final Duration idleTimeout;

  private final long id;
  private final Balancer balancer;
  private final Choosing choosing;
  private final boolean lazy;
  private final Settings settings;
  private final Standing standing = new Standing(this);
  private final @Nullable Resolving resolving;
  private final Set<Connector> connectors = new LinkedHashSet<>(); // of all that have connections
  private final Set<ClientEndpoint> toTryAgain = new LinkedHashSet<>();

  private final Map<String, ClientEndpoint> known = new HashMap<>(); // by their identities
  private List<Resolved> described = List.of(); // the set, as it was found
  private volatile List<ClientEndpoint> order = List.of(); // the same, in its order
  private boolean stale; // the picker is of another set, or of other states
  private long version; // of the set and its states
  private boolean telling; // the listener is about to be told
  private boolean awake; // somebody has wanted connections
  private boolean began; // somebody ever has
  private boolean reached; // a server was, once
  private long attempts; // to connect, that were begun
  private boolean closed;

  /** The endpoints of a target, of which nothing is connected yet. */
  public Endpoints(
      Clockwork clockwork,
      Target target,
      Balancer balancer,
      Opener opener,
      Listener listener,
      Settings settings) {
    this(
        clockwork,
        target,
        balancer,
        opener,
        listener,
        settings,
        Endpoints::onThreadOfItsOwn,
        new SplittableRandom());
  }

  Endpoints(
      Clockwork clockwork,
      Target target,
      Balancer balancer,
      Opener opener,
      Listener listener,
      Settings settings,
      Executor threads,
      RandomGenerator random) {
    this.clockwork = clockwork;
    this.target = target.text();
    this.balancer = balancer;
    this.choosing = new Choosing(this, balancer);
    this.lazy = balancer.lazy();
    this.opener = opener;
    this.listener = listener;
    this.settings = settings;
    this.idleTimeout = settings.idleTimeout;
    this.random = random;
    this.id = random.nextLong();
    this.resolving =
        target.resolver() == null
            ? null
            : new Resolving(target, target.resolver(), this, threads, this::apply);
    if (!target.known().isEmpty()) {
      apply(target.known());
    }
  }

  private static void onThreadOfItsOwn(Runnable work) {
    Thread thread = new Thread(work, "trunkcall-resolver");
    thread.setDaemon(true);
    thread.start();
  }

  // The set.

  /** The endpoints that there are, in their order. Any thread may ask. */
  public List<ClientEndpoint> order() {
    return order;
  }

  /** Whether the set has a single endpoint. */
  public boolean alone() {
    return order.size() == 1;
  }

  /** Whether a call that was turned away over one connection may be made over another. */
  public boolean elsewhere() {
    return settings.connections > 1 || order.size() > 1;
  }

  /** Begins to resolve and to connect, if that has not begun. */
  public void wake() {
    if (awake || closed) {
      return;
    }
    awake = true;
    if (!began) {
      began = true;
      if (resolving != null) {
        resolving.start();
      }
    }
    connect();
  }

  private void connect() {
    if (awake && !lazy) {
      order.forEach(ClientEndpoint::want);
    }
  }

  /** Exchanges the set: new ones first, then those that are in it no more are drained. */
  void apply(List<Resolved> found) {
    if (closed) {
      return;
    }
    List<Resolved> set = part(id, found);
    List<ClientEndpoint> last = order;
    int[] places = Places.of(set, described);
    ClientEndpoint[] now = new ClientEndpoint[places.length];
    boolean[] stayed = new boolean[last.size()];
    Set<ClientEndpoint> moved = new HashSet<>();
    for (int i = 0; i < now.length; i++) {
      if (places[i] != Places.NONE) {
        stayed[places[i]] = true;
        now[i] = last.get(places[i]);
      } else {
        now[i] = known(set.get(i));
        moved.add(now[i]);
      }
    }
    described = set;
    order = List.of(now);
    connect();
    for (int at = 0; at < stayed.length; at++) {
      ClientEndpoint old = last.get(at);
      if (!stayed[at] && !moved.contains(old)) {
        known.remove(old.endpoint().identity(), old);
        old.leave();
      }
    }
    changed();
  }

  /** The endpoint of a description, which is a new one if none is the same. */
  private ClientEndpoint known(Resolved one) {
    String identity = one.endpoint().identity();
    ClientEndpoint old = known.get(identity);
    if (old != null && same(old.endpoint(), one.endpoint())) {
      old.exchange(one);
      return old;
    }
    ClientEndpoint made = new ClientEndpoint(this, one, settings.connections);
    known.put(identity, made);
    return made;
  }

  /** Whether two descriptions with one identity are of the same endpoint (client.md 7.3). */
  private static boolean same(Endpoint one, Endpoint other) {
    return one == other
        || one.addresses().equals(other.addresses()) && one.serverName().equals(other.serverName());
  }

  /** Those of a set that a client with this id uses, in their order (client.md 8.5). */
  List<Resolved> part(long client, List<Resolved> found) {
    if (lazy || settings.most == 0 || found.size() <= settings.most) {
      return found;
    }
    long[] hashes = found.stream().mapToLong(Resolved::hash).toArray();
    int[] chosen =
        Rendezvous.ranked(client, hashes, at -> found.get(at).endpoint().identity(), settings.most);
    List<Resolved> used = new ArrayList<>(chosen.length);
    for (int at : chosen) {
      used.add(found.get(at));
    }
    return used;
  }

  // What its endpoints and their connectors tell and ask.

  boolean lazy() {
    return lazy;
  }

  boolean closed() {
    return closed;
  }

  /** An attempt to connect begins; its number. */
  long attemptBegins() {
    return ++attempts;
  }

  /** Whether a server was reached, once. */
  boolean reached() {
    return reached;
  }

  void noteReached() {
    reached = true;
  }

  /**
   * Whether nobody wants connections now, where the balancer wants all: they were closed for being
   * idle.
   */
  boolean asleep() {
    return !awake && !lazy;
  }

  /** An endpoint is left out for a while, because calls failed there. */
  void ejected(ClientEndpoint endpoint, Duration time) {
    listener.log(
        System.Logger.Level.WARNING,
        "endpoint ejected: "
            + endpoint.endpoint().identity()
            + " of "
            + target
            + ", for "
            + time.toMillis() / 1000.0
            + " s",
        null);
  }

  void failed(ClientEndpoint endpoint, String why) {
    listener.connectFailed(endpoint.endpoint(), why);
    unreached();
  }

  /** An endpoint could not be reached. */
  void unreached() {
    if (resolving != null) {
      resolving.endpointFailed();
    }
  }

  void liveChanged(ClientEndpoint endpoint) {
    List<Link> live = new ArrayList<>();
    for (Connector one : endpoint.connectors) {
      List<Link> of = one.live();
      live.addAll(of);
      if (of.isEmpty()) {
        connectors.remove(one);
      } else {
        connectors.add(one);
      }
    }
    endpoint.liveChanged(List.copyOf(live));
  }

  /** Those who wait for a slot of an endpoint are to look again. */
  void tryAgain(ClientEndpoint endpoint) {
    toTryAgain.add(endpoint);
    changed();
  }

  /** The set or a state in it has changed. Who waits is told when everything else is done. */
  void changed() {
    stale = true;
    version++;
    if (!telling) {
      telling = true;
      clockwork.execute(this::tell);
    }
  }

  private void tell() {
    telling = false;
    List<ClientEndpoint> again = List.copyOf(toTryAgain);
    toTryAgain.clear();
    again.forEach(listener::tryAgain);
    listener.changed();
  }

  /**
   * Closes a connection that nobody uses. Where the balancer wants all connected they are closed
   * together, once none is used or being opened: calls would go to those only that are left.
   * Whether anything was closed.
   */
  boolean closeUnused(Connector one) {
    List<Connector> unused = new ArrayList<>();
    if (lazy) {
      unused.add(one);
    } else {
      for (ClientEndpoint endpoint : order) {
        for (Connector other : endpoint.connectors) {
          if (!other.unused() && (other.hasConnection() || other.attempting())) {
            return false;
          }
          unused.add(other);
        }
      }
    }
    awake = false; // the next call has them connected again
    unused.forEach(Connector::close);
    return true;
  }

  // Closing, and what there is.

  /** The client is closed: nothing is opened any more. What is open is the client's to end. */
  public void stop() {
    closed = true;
    if (resolving != null) {
      resolving.stop();
    }
    for (ClientEndpoint endpoint : order) {
      endpoint.connectors.forEach(Connector::giveUp);
      tryAgain(endpoint);
    }
  }

  /** Every connection that is not gone, those included of endpoints that have left. */
  public List<Link> live() {
    List<Link> live = new ArrayList<>();
    connectors.forEach(one -> live.addAll(one.live()));
    return live;
  }

  /** How the client stands with each endpoint, and which of some rules leave it out, by scope. */
  public List<EndpointGauges> gauges(Map<String, OutlierState> outliers) {
    Map<String, List<String>> scopes = new HashMap<>(); // by the identities that they leave out
    outliers.forEach(
        (scope, state) ->
            state
                .ejected(order)
                .forEach(one -> scopes.computeIfAbsent(one, made -> new ArrayList<>()).add(scope)));
    return order.stream()
        .map(one -> one.gauges(scopes.getOrDefault(one.endpoint().identity(), List.of())))
        .toList();
  }

  // Picking.

  Balancer balancer() {
    return balancer;
  }

  /** Changes with the set, and with how its endpoints stand. */
  long version() {
    return version;
  }

  /**
   * A connection for a call; null if there is none now. Then the call waits for a change, or fails
   * if it does not wait and nothing is {@link #hopeful(Opening) hopeful}. Throws StatusException:
   * INTERNAL, not sent.
   */
  public @Nullable Link pick(Opening opening) {
    opening.unpick();
    wake();
    Link found = choose(opening);
    if (found != null) {
      opening.found();
    }
    return found;
  }

  private @Nullable Link choose(Opening opening) {
    List<ClientEndpoint> set = order;
    if (set.isEmpty()) {
      return null;
    }
    if (stale) {
      stale = false;
      choosing.balance(List.copyOf(set));
    }
    if (set.size() == 1 && set.get(0).state() == State.READY && choosing.isPlain()) {
      return set.get(0).connection();
    }
    Pick call = new Pick(opening.method(), opening.metadata(), opening.avoided());
    Chooser chooser = opening.chooser();
    boolean rules = chooser != null && !chooser.isIdle(this);
    ClientEndpoint found =
        chooser == null || !rules
            ? choosing.ask(call, set.size())
            : chooser.choose(this, call, opening.tried());
    if (found == null) {
      return null;
    }
    opening.picked(found, rules ? null : choosing.observer());
    Link link = found.connection();
    if (link == null) {
      opening.unpick();
      found.want();
    }
    return link;
  }

  // Why there is no connection.

  /** Whether something is under way that may end well. */
  boolean hopeful() {
    if (order.isEmpty()) {
      return resolving != null && resolving.reason().isEmpty();
    }
    return order.stream().anyMatch(ClientEndpoint::trying);
  }

  /**
   * Whether something is under way that a call waits for although it fails fast: attempts which
   * were so when it first had to wait, and first ones; not one retry after the other.
   */
  public boolean hopeful(Opening opening) {
    if (order.isEmpty()) {
      return hopeful();
    }
    long begun = opening.hopes(attempts);
    return order.stream()
        .anyMatch(one -> one.connectors.stream().anyMatch(each -> each.promises(begun)));
  }

  /** What a call without a connection waits for, for people. */
  public String waitsFor() {
    return standing.waitsFor();
  }

  /** Why a call ends that fails fast and for which there is no connection. */
  public String whyNone() {
    String trouble = trouble();
    if (!trouble.isEmpty()) {
      return trouble;
    }
    return standing.ready()
        ? choosing.named("the picker chose no endpoint")
        : "the connection was lost";
  }

  /** Why no endpoint is ready; empty if nothing is known or one is. */
  public String trouble() {
    return standing.trouble();
  }

  /**
   * Connects beforehand (client.md 9.7): whether that is done; if not, it is to be asked again
   * after the next change. Throws StatusException: UNAVAILABLE, not sent.
   */
  public boolean connected() {
    wake();
    return standing.connected();
  }

  /** What the resolver has failed with; empty if it has not, or there is none. */
  String unresolved() {
    return resolving == null ? "" : resolving.reason();
  }
}
