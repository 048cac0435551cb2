package io.trunkcall.internal.transport;

import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.SingleThreadIoEventLoop;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An event loop that one thread turns at a time, and not always the same one: whoever turns it owns
 * all that belongs to it, as if it were the loop's own thread. To wake another thread costs more
 * than most calls do, so two threads take a turn where waking is all that there is to be done:
 *
 * <ul>
 *   <li>a thread that makes one blocking call after the other, and nobody else is there: it sends
 *       and receives by itself ({@link #lead}). The loop's thread stands aside, and takes the loop
 *       back when there is work of others, when a call takes long, or when none comes any more;
 *   <li>the loop's own thread runs a short handler by itself, and lets go of the loop meanwhile
 *       ({@link #runHere}). If the handler takes longer than expected, or there is work of others,
 *       the {@link StandIn} turns the loop until it is back.
 * </ul>
 *
 * <p>Nobody but these does anything for a loop that nobody turns: what others hand over wakes them
 * at once, what comes on sockets is seen within {@link #LOOK}, twice that at most. Decision 0078.
 */
public final class TurnLoop extends SingleThreadIoEventLoop {
  /** ns between two looks whether somebody turns the loop. */
  static final long LOOK = 1_000_000;

  private static final int LONG_LOOKS = 2; // for which a caller may turn the loop
  private static final int FEW_LOOKS = 4; // for which few calls need come
  private static final long TASKS = 100_000_000; // ns of tasks, before sockets get their turn
  private static final Runnable NOTHING = () -> {};

  /** The loop that a thread turns which is not a loop's own. */
  private static final ThreadLocal<@Nullable TurnLoop> LED = new ThreadLocal<>();

  private static final AtomicReferenceFieldUpdater<TurnLoop, @Nullable Thread> TURNER =
      AtomicReferenceFieldUpdater.newUpdater(TurnLoop.class, Thread.class, "turner");

  // In the loop itself, since all who hand work over read it: nothing lies beside it that changes
  // with each call.
  private volatile @Nullable Thread turner;
  private byte @Nullable [] input;
  private volatile @Nullable LoopThread own; // the loop's own thread, once it has begun

  private final LoneCalls lone = new LoneCalls(this);
  private final boolean leadable;

  // While the own thread stands aside.
  private int timesAside;
  private volatile boolean aside;
  private volatile long leads; // calls whose callers have turned the loop
  private volatile boolean led; // by a caller, now
  private final ArrayDeque<Runnable> ledWork = new ArrayDeque<>(); // of a leader for himself

  private final Spinning spinningOfCallers = new Spinning();
  private final Spinning spinningBehindHandlers = new Spinning();
  private boolean spins; // of whoever turns the loop
  private final Flushes flushes = new Flushes();
  private final Runnable flush = this::flush;

  // While it runs a handler.
  private boolean ranAlone; // and waits for what comes next
  private final HereBatch here = new HereBatch(); // what it is to run next
  private volatile @Nullable StandIn standIn;
  private boolean lacksStandIn; // there could be none
  private volatile boolean running; // and does not want the loop back
  private volatile long runs;

  /** {@code leadable}: to wait for the sockets leaves the interrupts of a thread as they are. */
  TurnLoop(IoEventLoopGroup parent, Executor executor, IoHandlerFactory sockets, boolean leadable) {
    super(parent, executor, sockets);
    this.leadable = leadable;
  }

  /** A loop as one of these; null if it is none. */
  public static @Nullable TurnLoop of(EventLoop loop) {
    return loop instanceof TurnLoop own ? own : null;
  }

  /** Whether the current thread turns a loop, and so must not wait. */
  static boolean turnsOne() {
    return Thread.currentThread() instanceof LoopThread own && own.turns || LED.get() != null;
  }

  /** Whether calls come one at a time. Of whoever turns the loop. */
  public LoneCalls lone() {
    return lone;
  }

  /** What bytes are read into. Of whoever turns the loop. */
  byte[] input() {
    byte[] there = input;
    if (there == null) {
      there = new byte[Carrier.LARGEST_READ];
      input = there;
    }
    return there;
  }

  // Who turns it.

  @Override
  public boolean inEventLoop(Thread thread) {
    return turner == thread;
  }

  private boolean take(LoopThread thread) {
    thread.turns = TURNER.compareAndSet(this, null, thread);
    return thread.turns;
  }

  private void letGo(LoopThread thread) {
    thread.turns = false;
    turner = null;
  }

  /**
   * There is work: wakes those who turn the loop if nobody does. What was handed over before is
   * seen by who lets go of the loop after this has looked.
   */
  void woken() {
    if (turner == null) {
      LockSupport.unpark(own);
      StandIn there = standIn;
      if (there != null && running && here.isAlone()) { // others are over soon
        LockSupport.unpark(there.thread);
      }
    }
  }

  @Override
  protected void run() {
    LoopThread me = (LoopThread) Thread.currentThread();
    own = me;
    take(me);
    super.run();
  }

  @Override
  protected int runIo() {
    if (flushes.isPutOff()) {
      flushes.looked(look());
      execute(flush); // behind what it has found
      return 0;
    }
    if (!here.isEmpty()) {
      runNow();
      return 0;
    }
    here.turn();
    if (lone.letsStandAside()) {
      standAside();
      return 0;
    }
    if (ranAlone) {
      ranAlone = false;
      return read(spinningBehindHandlers);
    }
    return super.runIo();
  }

  private int sockets() {
    return super.runIo();
  }

  /** Waits for what comes, if that is worth it without sleeping at first. */
  private int read(Spinning spinning) {
    if (!spinning.worthIt()) {
      return sockets();
    }
    long began = System.nanoTime();
    long took = 0;
    spins = true;
    try {
      do {
        int some = sockets();
        took = System.nanoTime() - began;
        if (some > 0) {
          spinning.came(took);
          return some;
        }
        if (handedOver()) {
          return 0;
        }
        Thread.yield(); // to whom this waits for, if he has no other processor
      } while (took < Spinning.MOMENT);
    } finally {
      spins = false;
    }
    spinning.didNotCome();
    return sockets();
  }

  /** While it spins nothing in the layers below sleeps. */
  @Override
  protected boolean hasTasks() {
    return spins || super.hasTasks();
  }

  @Override
  protected int getNumOfRegisteredChannels() {
    return super.getNumOfRegisteredChannels();
  }

  private boolean handedOver() {
    return pendingTasks() > 0;
  }

  // Writing.

  /**
   * Has a connection written behind the work that was handed over by now, together with others, and
   * perhaps behind a few looks. Of whoever turns the loop.
   */
  void flushLater(Runnable write) {
    if (flushes.isEmpty()) {
      execute(flush); // first: where that fails nothing waits for it
    }
    flushes.add(write);
  }

  private void flush() {
    boolean goesOn = Thread.currentThread() == own && !aside; // to runIo
    if (!goesOn || handedOver() || !flushes.putOff(System.nanoTime())) {
      flushes.flush();
    }
  }

  /** Looks at the sockets without waiting. Whether anything had come. */
  private boolean look() {
    spins = true;
    try {
      return sockets() > 0;
    } finally {
      spins = false;
    }
  }

  // Callers that turn it.

  /** Whether callers may ever turn the loop. */
  boolean isLeadable() {
    return leadable;
  }

  /** Whether a caller may turn the loop, if nobody else does. */
  public boolean isAside() {
    return aside;
  }

  /** Whether the current thread may ever lead. A virtual one would pin the thread it runs on. */
  public static boolean mayLead() {
    return !VirtualThreads.isVirtual(Thread.currentThread());
  }

  /**
   * Has {@code work} done here, as if this were the loop's thread, and turns the loop until {@code
   * until} is done, if nobody else turns it and the loop's thread stands aside. False: nothing was
   * done. True: {@code until} may still not be done.
   */
  public boolean lead(Runnable work, CompletableFuture<?> until) {
    Thread me = Thread.currentThread();
    if (!aside || !mayLead() || me.isInterrupted() || turnsOne()) {
      return false;
    }
    if (!TURNER.compareAndSet(this, null, me)) {
      return false;
    }
    try {
      leads++;
      led = true;
      LED.set(this);
      work.run();
      while (!lone.areSeveral()) { // what ends another call would run that caller's functions here
        doLedWork();
        if (lone.areSeveral() || !aside || until.isDone() || hasTasks() || me.isInterrupted()) {
          break;
        }
        read(spinningOfCallers);
      }
    } finally {
      leadNoMore(until);
    }
    return true;
  }

  /** Lets go of the loop whatever happens: this may be a thread that has no more stack. */
  private void leadNoMore(CompletableFuture<?> until) {
    try {
      led = false;
      LED.set(null);
      while (!ledWork.isEmpty()) { // the answer came, or it has thrown
        super.execute(ledWork.poll());
      }
    } finally {
      turner = null;
      if (!aside || handedOver() || !until.isDone()) {
        LockSupport.unpark(own);
      }
    }
  }

  /** Work of a leader's own is kept apart: that of others is for the loop's thread. */
  @Override
  public void execute(Runnable task) {
    if (led && LED.get() == this) {
      ledWork.add(task);
    } else {
      super.execute(task);
    }
  }

  private void doLedWork() {
    do {
      for (Runnable task = ledWork.poll(); task != null; task = ledWork.poll()) {
        safeExecute(task);
      }
      if (hasScheduledTasks()) {
        for (Runnable task = pollScheduledTask(); task != null; task = pollScheduledTask()) {
          safeExecute(task);
        }
      }
    } while (!ledWork.isEmpty()); // what timers have set off
  }

  /**
   * Leaves the loop to callers, until there is work of others, a caller waits long, or no call
   * comes for a while.
   */
  private void standAside() {
    LoopThread me = thisThread();
    long seen = leads;
    int same = 0; // looks between which no call has come
    int few = 0; // between which few have
    long since = System.nanoTime();
    timesAside++;
    aside = true;
    letGo(me);
    while (!handedOver() && !me.turns) {
      park();
      long now = System.nanoTime();
      if (now - since < LOOK) {
        continue;
      }
      long led = leads;
      same = led == seen ? same + 1 : 0;
      few = LoneCalls.areFew(led - seen, now - since) ? few + 1 : 0;
      seen = led;
      since = now;
      boolean left = turner == null;
      if (few > FEW_LOOKS || same > LONG_LOOKS && !left) {
        break;
      }
      if (same > 0 && left && take(me) && !readNow()) {
        letGo(me);
      }
    }
    aside = false;
    while (!me.turns && !take(me)) {
      ioHandler().wakeup();
      park();
    }
    lone.stoodAside();
  }

  /** Reads what has come. Whether anything had, or a call has begun meanwhile. */
  private boolean readNow() {
    super.execute(NOTHING); // so that nothing is waited for
    boolean some = sockets() > 0;
    runAllTasks(TASKS);
    return some || !here.isEmpty() || lone.isOpen();
  }

  private static LoopThread thisThread() {
    return (LoopThread) Thread.currentThread();
  }

  // Handlers that its own thread runs.

  /**
   * Has a handler run by the loop's own thread behind this turn, which lets go of the loop
   * meanwhile. False: it is to be handed over. {@code alone}: no other call is served, and none was
   * for a while. On the loop.
   */
  public boolean runHere(Here call, boolean alone) {
    return Thread.currentThread() == own && !lacksStandIn && here.add(call, alone);
  }

  /** Whether there is somebody who can stand in. */
  private boolean hasStandIn() {
    if (standIn == null) {
      try {
        standIn = new StandIn(this);
      } catch (Throwable e) { // the system gives no more threads
        lacksStandIn = true;
        Carrier.LOG.log(System.Logger.Level.WARNING, "no thread that stands in for a loop's", e);
      }
    }
    return !lacksStandIn;
  }

  private void runNow() {
    LoopThread me = thisThread();
    if (!hasStandIn()) {
      here.giveAway();
      return;
    }
    StandIn there = Objects.requireNonNull(standIn);
    here.begin();
    runs++;
    running = true;
    there.watch();
    letGo(me);
    if (here.isAlone() && handedOver()) {
      LockSupport.unpark(there.thread);
    }
    Thread.interrupted(); // what was meant for somebody before is not for these handlers
    try {
      here.run();
    } finally {
      Thread.interrupted(); // nor is what they have left for what comes next
      boolean mine = take(me);
      running = false;
      while (!mine) {
        ioHandler().wakeup();
        park();
        mine = take(me);
      }
    }
    ranAlone = here.isAlone();
    here.end();
  }

  // For the stand-in.

  /** How many calls' callers have turned the loop. */
  long leads() {
    return leads;
  }

  long runs() {
    return runs;
  }

  /** How often its own thread has stood aside. Of whoever turns the loop. */
  int stoodAside() {
    return timesAside;
  }

  boolean isLeft() {
    return running && turner == null;
  }

  /** What was handed over may be what the one handler waits for. */
  boolean isLeftWithWork() {
    return isLeft() && here.isAlone() && handedOver();
  }

  /**
   * Turns the loop until its own thread wants it back; not if somebody else does, or if other
   * handlers are run than in the run of that number. {@code looked}: because they take long.
   */
  void standIn(LoopThread me, long run, boolean looked) {
    if (!take(me)) {
      return;
    }
    try {
      boolean same = running && runs == run; // it may have ended since somebody looked
      if (same) {
        here.takeOver(looked);
      }
      while (same && running) {
        sockets();
        runAllTasks(TASKS);
      }
    } finally {
      letGo(me);
      LockSupport.unpark(own);
    }
  }

  /** For a look, however often somebody interrupts one of the loop's threads. */
  void park() {
    Thread.interrupted();
    LockSupport.parkNanos(this, LOOK);
  }
}
