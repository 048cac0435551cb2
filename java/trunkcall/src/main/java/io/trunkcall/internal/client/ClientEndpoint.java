package io.trunkcall.internal.client;

import io.trunkcall.ConnectionGauges;
import io.trunkcall.Endpoint;
import io.trunkcall.EndpointGauges;
import io.trunkcall.EndpointState;
import io.trunkcall.Kind;
import io.trunkcall.Outcome;
import io.trunkcall.PickObserver;
import io.trunkcall.State;
import io.trunkcall.Status;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An endpoint of a client, with its connections. Used on the client's loop only, but for what
 * EndpointState has, which any thread may ask.
 */
public final class ClientEndpoint implements EndpointState {
  private static final int OPENING = 64; // connections that are opened at a time (client.md 9.3)
  private static final int STAY = 64; // calls made over one connection before another is looked at

  final long hash; // of its identity
  final List<Connector> connectors;
  private final Endpoints of;
  private final MovingLatency latencies = new MovingLatency();
  private final Object slots;
  private final Deque<Runnable> waitingToOpen = new ArrayDeque<>(0); // few ever have any

  private volatile Resolved resolved;
  private volatile State state = State.IDLE;
  private volatile int failures;
  private volatile List<Link> live = List.of(); // every connection that is not gone

  private boolean left; // it is in the set no more
  private String last = ""; // why the last attempt failed
  private int opening;
  private int turn; // of the connector that calls go over
  private int uses;

  ClientEndpoint(Endpoints of, Resolved resolved, int connections) {
    this.of = of;
    this.resolved = resolved;
    this.hash = resolved.hash();
    List<Connector> made = new ArrayList<>(connections);
    for (int i = 0; i < connections; i++) {
      made.add(new Connector(of, this));
    }
    this.connectors = List.copyOf(made);
    this.slots = of.listener.slots(this);
  }

  // What any thread may ask.

  @Override
  public Endpoint endpoint() {
    return resolved.endpoint();
  }

  @Override
  public State state() {
    return state;
  }

  @Override
  public int calls() {
    int open = 0;
    for (Link link : live) {
      open += link.open();
    }
    return open;
  }

  @Override
  public long latencyNanos() {
    double moving = latencies.at(now());
    return Double.isNaN(moving) ? -1 : (long) moving;
  }

  @Override
  public int failures() {
    return failures;
  }

  @Override
  public String toString() {
    return "endpoint " + endpoint() + " " + state;
  }

  /** The connections that are not gone. */
  public List<Link> live() {
    return live;
  }

  // What the client asks.

  /** What {@link Listener#slots} made for it. */
  public Object slots() {
    return slots;
  }

  /** Whether it is in the set no more. */
  public boolean left() {
    return left;
  }

  /** Has its connections opened. */
  public void want() {
    connectors.forEach(Connector::want);
  }

  /**
   * A connection for the next call, if there is one: of several the less loaded of two, now and
   * then.
   */
  public @Nullable Link connection() {
    int count = connectors.size();
    Link found = connectors.get(turn).usable();
    if (count == 1 || (found != null && ++uses % STAY != 0)) {
      return found;
    }
    for (int i = 0; i < count; i++) {
      turn = (turn + 1) % count;
      Link other = connectors.get(turn).usable();
      if (other == null) {
        connectors.get(turn).want();
      } else if (found == null || other.open() <= found.open()) {
        return other;
      }
    }
    return found;
  }

  /** What there is at the moment, with the scopes that leave it out. */
  EndpointGauges gauges(List<String> ejected) {
    List<ConnectionGauges> connections = new ArrayList<>();
    live.forEach(link -> connections.add(link.gauges()));
    Duration next = null;
    for (Connector one : connectors) {
      Duration due = one.nextAttempt();
      next = next == null || (due != null && due.compareTo(next) < 0) ? due : next;
    }
    long latency = latencyNanos();
    return new EndpointGauges(
        endpoint(),
        state,
        connections,
        calls(),
        latency < 0 ? null : Duration.ofNanos(latency),
        failures,
        last,
        next,
        ejected);
  }

  /** Whether an attempt to connect is under way. */
  boolean trying() {
    return connectors.stream().anyMatch(Connector::trying);
  }

  /** Why the last attempt failed; empty if none has. */
  String last() {
    return last;
  }

  Endpoints of() {
    return of;
  }

  long now() {
    return of.clockwork.nanos();
  }

  Opener.Dialled dialled(boolean reached) {
    boolean alone = of.alone();
    Resolved now = resolved;
    boolean greet = now.addresses().size() > 1 || !alone || reached;
    return new Opener.Dialled(now.endpoint(), now.addresses(), greet, alone);
  }

  // What becomes of calls.

  /** A call has ended that was given to a connection then; how long it took. */
  long sample(Kind kind, Status status, long given) {
    long now = now();
    latencies.ended(kind, status, now - given, now);
    return now - given;
  }

  void tell(PickObserver observer, Outcome outcome) {
    try {
      observer.ended(this, outcome);
    } catch (Throwable fault) {
      of.listener.log(
          System.Logger.Level.ERROR,
          "a picker failed when it was told of the end of a call",
          fault);
    }
  }

  // What resolvers tell.

  /** Takes another description of the same endpoint. */
  void exchange(Resolved other) {
    resolved = other;
  }

  /** It has left the set: no new calls, those that run end, then its connections close. */
  void leave() {
    left = true;
    connectors.forEach(Connector::leave);
    update();
    of.tryAgain(this);
  }

  // What its connectors tell.

  /** Begins to open a connection, once it is its turn. */
  void open(Runnable begin) {
    if (opening < OPENING) {
      opening++;
      begin.run();
    } else {
      waitingToOpen.add(begin);
    }
  }

  /** An attempt that was begun is over. */
  void opened() {
    Runnable next = left || of.closed() ? null : waitingToOpen.poll();
    if (next == null) {
      opening--;
    } else {
      next.run();
    }
  }

  /** An attempt is not wanted any more that may wait for its turn. Whether it has. */
  boolean giveUpTurn(Runnable begin) {
    return waitingToOpen.remove(begin);
  }

  void failed(String why) {
    last = why;
    of.failed(this, why);
  }

  void liveChanged(List<Link> links) {
    live = links;
  }

  /** What its state follows from has changed. */
  void changed() {
    if (update()) {
      of.changed();
    }
  }

  /** An attempt has ended, or a connection takes no more calls. */
  void tried() {
    update();
    of.changed();
  }

  private boolean update() {
    State now = State.IDLE;
    int most = 0;
    for (Connector one : connectors) {
      State stands = one.state();
      most = Math.max(most, one.failures());
      now = rank(stands) > rank(now) ? stands : now;
    }
    boolean changed = state != now;
    failures = now == State.READY ? 0 : most;
    state = now;
    return changed;
  }

  /** The endpoint has the state of the connector that stands best. */
  private static int rank(State state) {
    return switch (state) {
      case IDLE -> 0;
      case FAILING -> 1;
      case CONNECTING -> 2;
      case READY -> 3;
    };
  }
}
