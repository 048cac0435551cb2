package io.trunkcall;

import io.trunkcall.internal.client.Policies;
import io.trunkcall.internal.policy.Sources;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.wire.Load;
import io.trunkcall.internal.wire.SessionConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * What clients and servers are both given: each calls the other.
 *
 * @param <B> the builder
 */
public abstract class SideBuilder<B extends SideBuilder<B>> {
  final List<Handler> handlers = new ArrayList<>();
  @Nullable Tls tls;
  @Nullable Executor executor;
  @Nullable Observer observer;
  @Nullable Path policyFile;
  Timers timers = Timers.REAL;
  Sources sources = // of what a policy file decides, which tests give
      new Sources(Clock::nanos, () -> ThreadLocalRandom.current().nextInt());

  private final Map<Integer, String> codecs = new TreeMap<>();
  private final List<ClientInterceptor> calls = new ArrayList<>();
  private final List<ServerInterceptor> served = new ArrayList<>();
  private boolean virtualThreads;
  private @Nullable AttemptObserver attempts;
  private Limits limits = Limits.DEFAULTS;
  private Duration keepalive;
  private Duration keepaliveTimeout = Configs.KEEPALIVE_TIMEOUT;
  boolean repeat = true;
  private int waitingCalls = Configs.WAITING_CALLS;
  private int runningHandlers = Configs.RUNNING_HANDLERS;
  private long memory = Configs.defaultMemory();
  private @Nullable List<Compression> compression; // in order; null: nothing was said
  private List<Compression> decompression = Packing.usual();
  @Nullable Admission admission;
  boolean strictJson;

  SideBuilder(Duration keepalive) {
    this.keepalive = keepalive;
  }

  abstract B self();

  abstract Policies policies();

  /** The policy file of the calls that it makes. */
  @Nullable WatchedPolicyFile callsFile() {
    return null;
  }

  /** That of the calls that it serves. */
  @Nullable WatchedPolicyFile servedFile() {
    return null;
  }

  /** Methods that it serves. */
  public B serve(Handler... more) {
    handlers.addAll(List.of(more));
    return self();
  }

  /** TLS. Without it connections are in the clear. */
  public B tls(Tls tls) {
    this.tls = Objects.requireNonNull(tls, "tls");
    return self();
  }

  /**
   * A codec of one's own, 8 to 15, which the other side is told of, or one of Cap'n Proto, 4.
   *
   * @throws IllegalArgumentException for another number, or one that two codecs have
   */
  public B codec(Codec<?> codec) {
    Configs.add(codecs, codec);
    return self();
  }

  /** What wraps the calls that it makes. The first one given is the outermost. */
  public B clientInterceptor(ClientInterceptor interceptor) {
    calls.add(Objects.requireNonNull(interceptor, "interceptor"));
    return self();
  }

  /** What wraps the calls that it serves. The first one given is the outermost. */
  public B serverInterceptor(ServerInterceptor interceptor) {
    served.add(Objects.requireNonNull(interceptor, "interceptor"));
    return self();
  }

  /**
   * Has messages compressed with the first of these that the other side accepts; with none, never.
   * Unless it is given, a client sends plain, and a server answers with the compression of the
   * request. With it, a server compresses answers to plain requests as well.
   *
   * <p>Messages below 1,024 bytes are sent plain, and those that would not lose an eighth. Where
   * most messages of a method do not, it is tried less and less.
   *
   * @throws IllegalArgumentException for one that is neither gzip nor zstd by its number
   */
  public B compression(Compression... inOrder) {
    this.compression = Packing.checked("compression", inOrder);
    return self();
  }

  /**
   * What is accepted from the other sides, which are told so: gzip, and zstd where its library is
   * there, unless it is given. With none they send plain.
   *
   * @throws IllegalArgumentException for one that is neither gzip nor zstd by its number
   */
  public B decompression(Compression... accepted) {
    this.decompression = Packing.checked("decompression", accepted);
    return self();
  }

  /** What is accepted on each connection. */
  public B limits(Limits limits) {
    this.limits = Objects.requireNonNull(limits, "limits");
    return self();
  }

  /**
   * After so long without input (a client 20 s, a server 60 s) the other side is asked for a sign
   * of life (zero: never), and given up {@code timeout} later (20 s).
   */
  public B keepalive(Duration interval, Duration timeout) {
    Checks.micros("keepalive", interval);
    Checks.micros("keepaliveTimeout", timeout);
    this.keepalive = interval;
    this.keepaliveTimeout = timeout;
    return self();
  }

  /** Whether a unary call that provably was not run is made once more (spec/client.md); it is. */
  public B repeat(boolean repeat) {
    this.repeat = repeat;
    return self();
  }

  /** How many calls may wait for a connection or a free slot: 4,096 unless it is given. */
  public B waitingCalls(int most) {
    this.waitingCalls = Checks.count("waitingCalls", most, 0);
    return self();
  }

  /** How many handlers may run at once: 16,384 unless it is given. */
  public B runningHandlers(int most) {
    this.runningHandlers = Checks.count("runningHandlers", most, 1);
    return self();
  }

  /**
   * How many bytes may be held for the other sides: a quarter of what the heap may grow to, and at
   * most 1 GiB, unless it is given.
   */
  public B memory(long bytes) {
    this.memory = Configs.memory(bytes);
    return self();
  }

  /**
   * What handlers run on, in place of threads of its own, up to 1,024, which end when they are not
   * used.
   */
  public B executor(Executor executor) {
    this.executor = Objects.requireNonNull(executor, "executor");
    return self();
  }

  /**
   * Has each handler run on a virtual thread of its own.
   *
   * @throws UnsupportedOperationException where the runtime has none
   */
  public B virtualThreads() {
    HandlerThreads.virtual().shutdown();
    this.virtualThreads = true;
    return self();
  }

  /** Who is told of connections. */
  public B observer(Observer observer) {
    this.observer = Objects.requireNonNull(observer, "observer");
    return self();
  }

  /**
   * Has a file say what holds for calls, in the form of spec/policy.md: at a client timeouts,
   * retries, hedging, breakers, ejection of endpoints, balancers, zones, limits and faults for
   * drills; at a server limits, which stand before its admission. docs/policy.md has an example of
   * each. A file at fault fails {@code build}, which tells each fault with its line.
   *
   * <p>While the client or server is there, the file is looked at every second, and read again when
   * it has changed. What it says then holds for calls that begin afterwards. If it is at fault, a
   * warning is logged, the {@link Observer} is told, and what held before holds on.
   *
   * <p>At a client the file takes the place of its policies, its timeout and {@link #repeat}, which
   * contradict it. It does not hold for calls from a server to its clients.
   */
  public B policyFile(Path file) {
    this.policyFile = Objects.requireNonNull(file, "policyFile");
    return self();
  }

  /** Who is told of each attempt to make a call. */
  public B attemptObserver(AttemptObserver observer) {
    this.attempts = Objects.requireNonNull(observer, "attemptObserver");
    return self();
  }

  Calling calling() {
    Packing packing = new Packing(compression, decompression, limits.messageBytes(), memory);
    return new Calling(calls, packing, waitingCalls, repeat, policies(), callsFile(), attempts);
  }

  HandlerExecutor ownExecutor() {
    return virtualThreads ? HandlerThreads.unbounded() : HandlerThreads.pooled();
  }

  Serving serving(String side, @Nullable HandlerExecutor own, Packing packing) {
    Executor runs = own == null ? Objects.requireNonNull(executor) : own;
    return new Serving(
        side,
        served,
        servedFile(),
        admission,
        packing,
        strictJson,
        runs,
        new Load(runningHandlers, memory));
  }

  /** Codecs by the names that content types have for them. */
  Map<String, Integer> httpCodecs() {
    Map<String, Integer> named = new HashMap<>();
    codecs.forEach((number, name) -> named.put(name, number));
    named.putAll(Map.of("raw", 0, "protobuf", 1, "proto", 1, "json", 2, "msgpack", 3));
    return Map.copyOf(named);
  }

  SessionConfig config(Load load) {
    return Configs.of(limits, codecs, keepalive, keepaliveTimeout, load, memory, decompression);
  }
}
