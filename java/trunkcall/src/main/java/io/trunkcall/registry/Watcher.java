package io.trunkcall.registry;

import io.trunkcall.Endpoint;
import io.trunkcall.Watch;
import io.trunkcall.internal.transport.Clock;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes endpoints of what a {@link Source} tells of one service. Any thread may use it; what is
 * told counts in the order of the calls.
 */
public final class Watcher {
  private static final ScheduledThreadPoolExecutor LATER = later();

  private final Watch watch;
  private final String service;
  private final View view;

  private final ReentrantLock lock = new ReentrantLock(); // of all below; nothing waits under it
  private int tellings;
  private @Nullable Future<?> timer; // for when the view wants to be called
  private long timed = View.NEVER; // when that is
  private String reason = ""; // that the client was told last
  private String asked = ""; // what DNS is asked for, in which the service has another name
  private boolean ended;

  Watcher(String service, Watch watch) {
    this.watch = watch;
    this.service = service;
    this.view = new View(service, new Telling());
  }

  private static ScheduledThreadPoolExecutor later() {
    ScheduledThreadPoolExecutor made =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread thread = new Thread(work, "trunkcall-registry");
              thread.setDaemon(true);
              return thread;
            });
    made.setRemoveOnCancelPolicy(true);
    made.setKeepAliveTime(10, TimeUnit.SECONDS);
    made.allowCoreThreadTimeOut(true);
    return made;
  }

  /** Tells all entries that there are, at first and whenever it is not known what has changed. */
  public void all(Collection<Entry> entries) {
    List<Entry> there = List.copyOf(entries);
    tell(at -> view.all(at, there));
  }

  /** Tells the entries that came or changed, and the ids of those that went. */
  public void change(Collection<Entry> came, Collection<String> went) {
    List<Entry> now = List.copyOf(came);
    List<String> gone = List.copyOf(went);
    tell(at -> view.change(at, now, gone));
  }

  /**
   * Waits until an endpoint could not be reached, at most for a time: see {@link
   * Watch#awaitFailure}.
   */
  public boolean awaitFailure(Duration atMost) throws InterruptedException {
    return watch.awaitFailure(atMost);
  }

  /** Says what DNS is asked for. */
  void askFor(String question) {
    lock.lock();
    try {
      asked = question;
    } finally {
      lock.unlock();
    }
  }

  /** How often something was told. */
  int tellings() {
    lock.lock();
    try {
      return tellings;
    } finally {
      lock.unlock();
    }
  }

  void fail(String why) {
    lock.lock();
    try {
      if (!ended) {
        view.fail(Clock.micros(), "watching " + service + ": " + why);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Nothing that is told counts any more. */
  void end() {
    lock.lock();
    try {
      ended = true;
      cancel();
    } finally {
      lock.unlock();
    }
  }

  private void tell(LongConsumer what) {
    lock.lock();
    try {
      if (ended) {
        return;
      }
      tellings++;
      what.accept(Clock.micros());
      String now = view.reason();
      if (!now.isEmpty() && !asked.isEmpty()) {
        now += ": DNS was asked for " + asked;
      }
      if (!now.isEmpty() && !now.equals(reason)) {
        reason = now;
        watch.fail(now);
      }
      schedule();
    } finally {
      lock.unlock();
    }
  }

  /** Has the view called when it wants to be. */
  private void schedule() {
    long at = view.due();
    if (at == timed && timer != null) {
      return;
    }
    cancel();
    if (at != View.NEVER) {
      timed = at;
      long wait = Math.max(at - Clock.micros(), 0);
      timer = LATER.schedule(this::due, wait, TimeUnit.MICROSECONDS);
    }
  }

  private void cancel() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    timed = View.NEVER;
  }

  private void due() {
    lock.lock();
    try {
      if (ended) {
        return;
      }
      cancel();
      long now = Clock.micros();
      if (view.due() <= now) {
        view.compute(now);
      }
      schedule();
    } finally {
      lock.unlock();
    }
  }

  /** What the view tells, under the lock. */
  private final class Telling implements View.Told {
    @Override
    public void handed(long at, List<Endpoint> set) {
      try {
        watch.set(set);
      } catch (IllegalArgumentException refused) {
        // The client has told of it, and keeps the set that it has.
      }
    }

    @Override
    public void leftOut(long at, List<View.LeftOut> some, int more) {
      for (View.LeftOut one : some) {
        String from = one.entry().from();
        String where = from.isEmpty() ? service + "/" + one.entry().id() : from;
        RegistryLog.warn("left out of a registry: " + where + ": " + one.why());
      }
      if (more > 0) {
        RegistryLog.warn(
            "left out of a registry: " + more + " more entries of " + service + " are no records");
      }
    }

    @Override
    public void failing(long at, String why) {
      reason = why;
      watch.fail(why);
    }

    @Override
    public void again(long at) {
      RegistryLog.info("a registry answers again: " + service);
    }

    @Override
    public void kept(long at, int instances) {
      RegistryLog.warn(
          "instances of " + service + " that a registry has no more are kept: " + instances);
    }
  }
}
