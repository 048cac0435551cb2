package io.trunkcall.internal.client;

import io.trunkcall.State;
import io.trunkcall.internal.transport.Clockwork;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Keeps one connection to an endpoint: opens it, tries again, and has another opened when it is no
 * more (client.md 9.1 and 9.2). Used on the client's loop only.
 */
public final class Connector {
  /** After that time the end of a connection is no failure of the attempt that opened it. */
  static final Duration STEADY = Duration.ofSeconds(5);

  private static final int LOOKS = 4; // within the idle timeout

  private final Endpoints endpoints;
  private final ClientEndpoint endpoint;
  private final List<Held> held =
      new ArrayList<>(); // every connection of this one that is not gone

  private @Nullable Held current; // that new calls may use
  private int failures; // attempts in a row that failed
  private long due; // the next attempt not before
  private @Nullable Attempt attempt;
  private Clockwork.@Nullable Timer timer; // until the next attempt
  private Clockwork.@Nullable Timer idle; // until it is looked whether the connection is used
  private long mark = -1; // what was seen then, which changes with each call
  private int unused; // how many looks ago it last did

  /** A connection, and how it stands with it. */
  private static final class Held {
    final Link link;
    boolean taken; // calls use it, or did
    boolean leaving; // it drains or is replaced, or its loss was counted: no failure when it ends
    boolean gone; // kept for what the attempt has to say of it
    String fault = ""; // why the server turned the client away

    Held(Link link) {
      this.link = link;
    }
  }

  Connector(Endpoints endpoints, ClientEndpoint endpoint) {
    this.endpoints = endpoints;
    this.endpoint = endpoint;
    this.due = endpoints.clockwork.nanos();
  }

  /** The endpoint that it leads to. */
  public ClientEndpoint endpoint() {
    return endpoint;
  }

  // What it is asked.

  /** The connection, if it takes calls. */
  @Nullable Link usable() {
    Held now = current;
    return now != null && now.link.usable() ? now.link : null;
  }

  boolean hasConnection() {
    return current != null;
  }

  /** Whether an attempt is under way, or waits for its turn. */
  boolean attempting() {
    return attempt != null;
  }

  /** Whether an attempt is under way, or as good as that: after a connection that has lasted. */
  boolean trying() {
    boolean ending = current != null && !current.link.usable(); // which is about to be told
    return ending || attempt != null || (timer != null && failures == 0);
  }

  /** Whether a first attempt is under way, or one of the first {@code begun} of all attempts. */
  boolean promises(long begun) {
    return state() == State.CONNECTING
        || (current != null && !current.link.usable())
        || (attempt != null && attempt.number <= begun);
  }

  int failures() {
    return failures;
  }

  State state() {
    if (current != null) {
      return State.READY;
    }
    if (failures > 0) {
      return State.FAILING;
    }
    return attempt != null || timer != null ? State.CONNECTING : State.IDLE;
  }

  /** Until the next attempt, zero while one is under way; null if none is to come. */
  @Nullable Duration nextAttempt() {
    if (attempt != null) {
      return Duration.ZERO;
    }
    return timer == null ? null : Duration.ofNanos(Math.max(due - now(), 0));
  }

  private long now() {
    return endpoints.clockwork.nanos();
  }

  // Opening.

  /** Opens a connection if there is none, at once or when the pause is over. */
  void want() {
    boolean coming = current != null || attempt != null || timer != null;
    if (coming || endpoint.left() || endpoints.closed()) {
      return;
    }
    long pause = due - now();
    if (pause > 0) {
      timer = endpoints.clockwork.after(Duration.ofNanos(pause), this::again);
    } else {
      begin();
    }
    endpoint.changed();
  }

  /** The pause is over: dials, unless the client has become idle meanwhile (client.md 9.1). */
  private void again() {
    timer = null;
    if (endpoints.asleep()) {
      failures = 0;
      endpoint.tried();
    } else {
      begin();
      endpoint.changed();
    }
  }

  private void begin() {
    Attempt begun = new Attempt();
    attempt = begun;
    endpoint.open(begun.start);
  }

  /** One attempt to connect. */
  private final class Attempt {
    final long number = endpoints.attemptBegins();
    final Runnable start = this::start; // in its turn
    private @Nullable CompletableFuture<? extends Link> opening;
    private boolean cancelled;

    private void start() {
      CompletableFuture<? extends Link> begun;
      try {
        begun = endpoints.opener.open(Connector.this, endpoint.dialled(endpoints.reached()));
      } catch (Throwable fault) {
        begun = CompletableFuture.failedFuture(fault);
      }
      opening = begun;
      CompletableFuture<?> unused = begun.whenComplete(this::ended);
    }

    void cancel() {
      cancelled = true;
      if (opening == null) {
        endpoint.giveUpTurn(start);
      } else {
        opening.cancel(false);
      }
    }

    private void ended(@Nullable Link made, @Nullable Throwable fault) {
      endpoint.opened();
      if (cancelled) {
        if (made != null) {
          made.drain(); // it came all the same
        }
        return;
      }
      attempt = null;
      if (made == null) {
        failed("cannot reach " + spelled(fault));
      } else if (made.usable()) {
        take(made);
      } else {
        failed("cannot reach " + made.remote() + ": " + whyUnusable(made));
      }
      if (held.removeIf(one -> one.gone)) {
        endpoints.liveChanged(endpoint);
      }
      endpoint.tried();
      want();
    }
  }

  private static String spelled(@Nullable Throwable fault) {
    Throwable cause =
        fault instanceof CompletionException && fault.getCause() != null ? fault.getCause() : fault;
    String text = cause == null ? null : cause.getMessage();
    return text == null || text.isEmpty() ? String.valueOf(cause) : text;
  }

  private void take(Link made) {
    Held taken = hold(made);
    taken.taken = true;
    current = taken;
    endpoints.noteReached();
    if (!endpoints.idleTimeout.isZero()) {
      mark = made.activity();
      unused = 0;
      lookLater(made);
    }
  }

  private @Nullable Held held(Link link) {
    for (Held one : held) {
      if (one.link == link) {
        return one;
      }
    }
    return null;
  }

  private String whyUnusable(Link link) {
    Held one = held(link);
    return one == null || one.fault.isEmpty() ? "it takes no calls" : one.fault;
  }

  /** The connections that are not gone. */
  List<Link> live() {
    return held.stream().filter(one -> !one.gone).map(one -> one.link).toList();
  }

  /** Notes a failure and when the next attempt is due, at random within a time that doubles. */
  private void failed(String why) {
    failures++;
    due = now() + Backoff.pause(failures, endpoints.random).toNanos();
    endpoint.failed(why);
  }

  // What connections tell.

  /** There is a connection; the server may not have greeted, and no call uses it. */
  public void connected(Link link) {
    hold(link);
  }

  private Held hold(Link link) {
    Held known = held(link);
    if (known != null) {
      return known;
    }
    Held added = new Held(link);
    held.add(added);
    endpoints.liveChanged(endpoint);
    return added;
  }

  /** The server has greeted. */
  public void greeted(Link link) {
    if (held(link) != null) {
      endpoints.changed();
    }
  }

  /** The connection takes no more calls, for no fault: the server drains it, or it is replaced. */
  public void drained(Link link) {
    Held one = held(link);
    if (one != null) {
      leave(one);
      retire(one);
    }
  }

  /** The server has ended the connection with a reason: it takes no more calls. */
  public void turnedAway(Link link, String why) {
    Held one = held(link);
    if (one == null) {
      return;
    }
    one.fault = why;
    if (one.taken && !one.leaving) {
      if (steady(link)) {
        failures = 0;
      }
      failed("cannot reach " + link.remote() + ": " + why);
    }
    one.leaving = true;
    retire(one);
  }

  /** The connection is gone. */
  public void lost(Link link, String why) {
    Held one = held(link);
    if (one == null) {
      return;
    }
    if (one.fault.isEmpty()) {
      one.fault = why;
    }
    if (one.taken && !one.leaving && !endpoints.closed()) {
      countLoss(link, why);
    }
    one.leaving = true;
    one.gone = true;
    retire(one);
    if (attempt == null || one.taken) {
      held.remove(one);
    }
    endpoints.liveChanged(endpoint);
  }

  private void countLoss(Link link, String why) {
    if (steady(link)) {
      failures = 0; // those before are in a row with no others
      due = now() + Backoff.pause(1, endpoints.random).toNanos();
      endpoints.unreached();
    } else {
      String what = link.greeted() ? "the connection to %s ended: %s" : "cannot reach %s: %s";
      failed(what.formatted(link.remote(), why));
    }
  }

  private boolean steady(Link link) {
    return now() - link.began() >= STEADY.toNanos();
  }

  /** A connection leaves in order: attempts that had failed are in a row with no others. */
  private void leave(Held one) {
    if (one.taken) {
      failures = 0;
    }
    one.leaving = true;
  }

  /** Has later calls use another connection, which is opened unless the balancer is lazy. */
  private void retire(Held one) {
    if (current != one) {
      return;
    }
    current = null;
    endpoint.tried();
    endpoints.tryAgain(endpoint);
    if (!endpoints.lazy() || failures > 0) {
      want();
    }
  }

  // Closing.

  private void lookLater(Link link) {
    Duration after = endpoints.idleTimeout.dividedBy(LOOKS);
    idle = endpoints.clockwork.after(after, () -> look(link));
  }

  /** Closes a connection that had no call for the idle timeout. The next call opens another. */
  private void look(Link link) {
    if (current == null || current.link != link) {
      return;
    }
    long seen = link.activity();
    unused = seen < 0 || seen != mark ? 0 : unused + 1;
    mark = seen;
    if (!unused() || !endpoints.closeUnused(this)) {
      lookLater(link);
    }
  }

  /** Whether there is a connection and no call went over it for the idle timeout. */
  boolean unused() {
    Held now = current;
    return now != null && unused >= LOOKS && now.link.activity() == mark;
  }

  /** Closes the connection; the next call has another opened. */
  void close() {
    if (current != null) {
      drain(current);
      endpoint.tried();
    }
  }

  /** The endpoint has left: what runs goes on, and nothing new begins. */
  void leave() {
    giveUp();
    if (current != null) {
      drain(current);
    }
  }

  private void drain(Held one) {
    leave(one);
    current = null;
    if (idle != null) {
      idle.cancel();
      idle = null;
    }
    one.link.drain();
  }

  /** Opens nothing more. */
  void giveUp() {
    Attempt begun = attempt;
    attempt = null;
    if (begun != null) {
      begun.cancel();
    }
    if (timer != null) {
      timer.cancel();
      timer = null;
    }
    if (idle != null) {
      idle.cancel();
      idle = null;
    }
  }
}
