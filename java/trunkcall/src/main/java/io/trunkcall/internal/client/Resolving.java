package io.trunkcall.internal.client;

import io.trunkcall.Endpoint;
import io.trunkcall.Resolver;
import io.trunkcall.Watch;
import io.trunkcall.internal.transport.Clockwork;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Has a resolver work for a client: calls it again when it fails, and keeps what it tells in order
 * (client.md 8). Used on the client's loop, but for the resolver itself and its watch.
 */
final class Resolving {
  private static final Duration SETTLING = Duration.ofMillis(10); // between sets that are applied

  private final Target target;
  private final Resolver resolver;
  private final Clockwork clockwork;
  private final Executor threads;
  private final RandomGenerator random;
  private final Consumer<List<Resolved>> apply;
  private final Runnable failed; // there is a new reason why there is no set
  private final Listener listener;
  private final Watching watch = new Watching();
  private final Running running = new Running();

  private String reason = ""; // the last failure, as long as no good set came after it
  private boolean resolved; // there is a good set
  private boolean goodSince; // one came since the resolver last failed
  private int failures;
  private String noted = ""; // what was logged last; empty since there was a good set
  private List<Endpoint> last = List.of();
  private @Nullable List<Resolved> pending;
  private Clockwork.@Nullable Timer settling; // until then sets are kept back
  private Clockwork.@Nullable Timer again;
  private volatile boolean stopped;

  Resolving(
      Target target,
      Resolver resolver,
      Endpoints endpoints,
      Executor threads,
      Consumer<List<Resolved>> apply) {
    this.target = target;
    this.resolver = resolver;
    this.clockwork = endpoints.clockwork;
    this.threads = threads;
    this.random = endpoints.random;
    this.apply = apply;
    this.failed = endpoints::changed;
    this.listener = endpoints.listener;
  }

  /** Why there is no set; empty if there is one, or nothing is known yet. */
  String reason() {
    return reason;
  }

  /** Has the resolver called, on a thread of its own. */
  void start() {
    again = null;
    try {
      threads.execute(running);
    } catch (Throwable e) { // the system gives no more threads
      ended("there is no thread for it: " + spelled(e), false);
    }
  }

  /** An endpoint could not be reached. */
  void endpointFailed() {
    watch.tellFailed();
  }

  /** The client is closed. */
  void stop() {
    stopped = true;
    pending = null;
    for (Clockwork.Timer timer : new Clockwork.@Nullable Timer[] {settling, again}) {
      if (timer != null) {
        timer.cancel();
      }
    }
    running.interrupt();
  }

  /** A run of the resolver, which is interrupted only while it is under way. */
  private final class Running implements Runnable {
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable Thread thread;

    @Override
    public void run() {
      if (!enter()) {
        return;
      }
      String fault = null;
      boolean told = false;
      try {
        resolver.resolve(watch);
      } catch (RefusedSet refused) {
        told = true;
      } catch (Throwable thrown) {
        fault = spelled(thrown);
      } finally {
        leave();
      }
      String why = fault;
      boolean known = told;
      clockwork.execute(() -> ended(why, known));
    }

    private boolean enter() {
      lock.lock();
      try {
        if (stopped) {
          return false;
        }
        thread = Thread.currentThread();
        return true;
      } finally {
        lock.unlock();
      }
    }

    private void leave() {
      lock.lock();
      try {
        thread = null;
        if (stopped) {
          Thread.interrupted(); // it was meant for the resolver
        }
      } finally {
        lock.unlock();
      }
    }

    void interrupt() {
      lock.lock();
      try {
        if (thread != null) {
          thread.interrupt();
        }
      } finally {
        lock.unlock();
      }
    }
  }

  static String spelled(Throwable fault) {
    String text = fault.getMessage();
    String name = fault.getClass().getSimpleName();
    return text == null || text.isEmpty() ? name : name + ": " + text;
  }

  /** The resolver has ended, with a fault that it threw unless that was told when it arose. */
  private void ended(@Nullable String fault, boolean told) {
    if (stopped) {
      return;
    }
    if (fault == null && !told && resolved) {
      return; // no change will come, or another thread tells of it
    }
    if (!told) {
      note(fault == null ? "it returned without a set" : fault);
    }
    failures = goodSince ? 1 : failures + 1;
    goodSince = false;
    again = clockwork.after(Backoff.pause(failures, random), this::start);
  }

  private void note(String why) {
    reason = target.resolverName() + ": " + why;
    if (!reason.equals(noted)) {
      noted = reason;
      String kept = resolved ? "; the last good set stays" : "";
      listener.log(
          System.Logger.Level.WARNING, "target " + target.text() + ": " + reason + kept, null);
    }
    failed.run();
  }

  /** A set that was checked. Of sets in quick succession the last counts. */
  private void take(List<Endpoint> given, List<Resolved> found) {
    if (stopped) {
      return;
    }
    goodSince = true;
    noted = "";
    if (found.size() < given.size()) {
      listener.log(
          System.Logger.Level.WARNING,
          "target " + target.text() + ": endpoints stand twice in a set; the first counts",
          null);
    }
    if (resolved && given.equals(last)) {
      return;
    }
    resolved = true;
    reason = "";
    last = given;
    if (settling == null) {
      applyNow(found);
    } else {
      pending = found;
    }
  }

  private void applyNow(List<Resolved> found) {
    settling = clockwork.after(SETTLING, this::settled);
    apply.accept(found);
  }

  private void settled() {
    settling = null;
    List<Resolved> found = pending;
    pending = null;
    if (found != null) {
      applyNow(found);
    }
  }

  /** Told to the resolver, who need not tell it again. */
  private static final class RefusedSet extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    RefusedSet(String why) {
      super(why);
    }
  }

  /** What the resolver is given. Any thread may use it. */
  private final class Watching implements Watch {
    private final Semaphore failure = new Semaphore(0); // has a permit after one
    private volatile Resolved.Checked checked = Resolved.Checked.NONE; // the last good set

    @Override
    public String target() {
      return target.rest();
    }

    @Override
    public void set(List<Endpoint> endpoints) {
      if (stopped) {
        return;
      }
      List<Endpoint> given = List.copyOf(endpoints);
      Resolved.Checked good;
      try {
        good = checked.next(given);
      } catch (IllegalArgumentException fault) {
        String why = String.valueOf(fault.getMessage());
        clockwork.execute(() -> noteIfRunning(why));
        throw new RefusedSet(why);
      }
      checked = good;
      clockwork.execute(() -> take(given, good.found()));
    }

    @Override
    public void fail(String why) {
      String told = Objects.requireNonNull(why, "why");
      clockwork.execute(() -> noteIfRunning(told));
    }

    @Override
    public boolean awaitFailure(Duration atMost) throws InterruptedException {
      if (stopped) { // and whoever was interrupted may have made something else of it
        throw new InterruptedException();
      }
      return failure.tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
    }

    void tellFailed() {
      if (failure.availablePermits() == 0) {
        failure.release();
      }
    }
  }

  private void noteIfRunning(String why) {
    if (!stopped) {
      note(why);
    }
  }
}
