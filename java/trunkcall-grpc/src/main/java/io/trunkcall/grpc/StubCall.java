package io.trunkcall.grpc;

import io.grpc.Attributes;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Deadline;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.trunkcall.Blocking;
import io.trunkcall.Code;
import io.trunkcall.Compression;
import io.trunkcall.Connection;
import io.trunkcall.Method;
import io.trunkcall.Output;
import io.trunkcall.ServerCall;
import io.trunkcall.StatusException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A call of a stub: what the kinds have in common. Its listener is called by the tasks of one
 * {@link Serial}, within gRPC's context of whoever made the call.
 */
abstract class StubCall<Q, R> extends ClientCall<Q, R> implements Context.CancellationListener {
  private static final double NANOS = 1e9; // of a second

  final GrpcChannel channel;
  final Serial serial;
  private final Methods.Known<Q, R> known;
  private final MethodDescriptor<Q, R> descriptor;
  private final CallOptions options;
  private final Context context = Context.current();
  private final @Nullable ServerCall within = ServerCall.current();
  private final @Nullable Deadline deadline;
  private final Executor executor;
  private final long began = System.nanoTime();

  private @Nullable Thread waits; // of a blocking stub
  private volatile @Nullable Listener<R> listener;
  private Tracing tracing = Tracing.NONE;
  private boolean halfClosed; // by the user's thread
  private boolean cancelled; // by the user

  private volatile boolean passing; // what is sent is passed on, and held no more

  // Guarded by this.
  private @Nullable Status stopped; // by this side
  private @Nullable List<Runnable> held = new ArrayList<>(0); // until it is opened; then null

  // On the serial.
  private boolean headersTold;
  private boolean over;

  StubCall(
      GrpcChannel channel,
      Methods.Known<Q, R> known,
      MethodDescriptor<Q, R> descriptor,
      CallOptions options) {
    this.channel = channel;
    this.known = known;
    this.descriptor = descriptor;
    this.options = options;
    Executor given = options.getExecutor();
    this.executor = given == null ? channel.executor() : given;
    this.serial = new Serial(executor);
    Deadline own = options.getDeadline();
    Deadline around = context.getDeadline();
    this.deadline = own == null ? around : around == null ? own : own.minimum(around);
  }

  // What the kinds differ in.

  /** The call may begin. */
  abstract void opened(Method<Q, R> method, io.trunkcall.CallOptions how);

  /** The call has begun, and what was sent before has been passed on. */
  void caughtUp() {}

  abstract void send(Q message);

  abstract void endRequests();

  /** Ends what was begun, if anything was. Any thread. */
  abstract void abandon();

  /** The address of the server, empty before it is known. */
  abstract String peer();

  // As ClientCall.

  @Override
  public final void start(Listener<R> observer, Metadata headers) {
    checkState(listener == null, "Already started");
    checkState(!cancelled, "call was cancelled");
    if (isBlocking()) {
      Blocking.refuseOnLoop();
      waits = Thread.currentThread();
    }
    listener = observer;
    Status not = refused();
    if (not != null) {
      stop(not);
      return;
    }
    context.addListener(this, Runnable::run);
    CallCredentials credentials = options.getCredentials();
    if (credentials == null) {
      open(headers);
    } else {
      authorize(credentials, headers);
    }
  }

  /** Whether it is a blocking stub's, by its executor, the thread that waits: nothing else says. */
  private boolean isBlocking() {
    String name = executor.getClass().getName();
    return name.startsWith("io.grpc.stub.ClientCalls$") && name.endsWith("ThreadlessExecutor");
  }

  /** Whether this thread does nothing but wait for the call once it is made. */
  final boolean isWaitedFor() {
    return waits == Thread.currentThread(); // with credentials another may make it
  }

  /** Why the call is not to begin. */
  private @Nullable Status refused() {
    if (context.isCancelled()) {
      return ofContext();
    }
    String compressor = options.getCompressor();
    if (compressor != null && Compressors.named(compressor) == null) {
      return Status.INTERNAL.withDescription("Unable to find compressor by name " + compressor);
    }
    String authority = options.getAuthority();
    if (authority != null && !authority.equals(channel.authority())) {
      return Status.UNIMPLEMENTED.withDescription(
          "the authority of a call has no place on a Trunkcall connection: " + authority);
    }
    if (deadline != null && deadline.isExpired()) {
      String text =
          String.format(
              Locale.ROOT,
              "ClientCall started after %s deadline was exceeded %.9f seconds ago",
              whose(),
              -deadline.timeRemaining(TimeUnit.NANOSECONDS) / NANOS);
      return Status.DEADLINE_EXCEEDED.withDescription(text);
    }
    return null;
  }

  /** Whether the next message may be sent: there is room for it, and the call goes on. */
  static boolean tookAll(CompletableFuture<Boolean> sent) {
    return sent.isDone() && !sent.isCompletedExceptionally() && sent.join();
  }

  private void authorize(CallCredentials credentials, Metadata headers) {
    Authorizing applier =
        new Authorizing(
            added -> {
              headers.merge(added);
              open(headers);
            },
            this::stop);
    try {
      credentials.applyRequestMetadata(
          new Authorizing.Info(descriptor, options, channel), executor, applier);
    } catch (RuntimeException e) {
      applier.fail(
          Status.UNAUTHENTICATED.withDescription("Credentials should use fail()").withCause(e));
    }
  }

  private void open(Metadata headers) {
    if (isStopped()) {
      return;
    }
    tracing = Tracing.of(options, headers);
    Integer limit = options.getMaxInboundMessageSize();
    Method<Q, R> method =
        limit == null && tracing.isEmpty()
            ? known.method()
            : known.ofCall(limit == null ? Integer.MAX_VALUE : limit, tracing);
    io.trunkcall.CallOptions how =
        io.trunkcall.CallOptions.NONE.withMetadata(Entries.fromGrpc(headers));
    if (deadline != null) {
      how = how.withTimeout(Duration.ofNanos(deadline.timeRemaining(TimeUnit.NANOSECONDS)));
    } else if (!channel.policies()) {
      how = how.withoutDefaultTimeout();
    }
    if (options.isWaitForReady()) {
      how = how.withWaitForReady(true);
    }
    Compression[] compressor =
        options.getCompressor() == null ? null : Compressors.named(options.getCompressor());
    if (compressor != null) {
      how = how.withCompression(compressor);
    }
    tracing.began();
    opened(method, how);
    List<Runnable> before;
    while ((before = takeHeld()) != null) {
      before.forEach(Runnable::run);
    }
    caughtUp();
  }

  /** Those that wait; null when none did, from when on nothing is held any more. */
  private synchronized @Nullable List<Runnable> takeHeld() {
    List<Runnable> found = held;
    held = found == null || found.isEmpty() ? null : new ArrayList<>();
    passing = held == null;
    return held == null ? null : found;
  }

  /** Does it once the call is open. */
  private void whenOpen(Runnable work) {
    synchronized (this) {
      if (stopped != null) {
        return;
      }
      if (held != null) {
        held.add(work);
        return;
      }
    }
    work.run();
  }

  /** Makes a call within that of the handler around, if there is one. */
  final void make(Runnable call) {
    if (within != null && GrpcChannel.isNative(within)) {
      within.run(call);
    } else if (within != null) {
      within.runWithoutDeadline(call);
    } else {
      ServerCall.<@Nullable Object>detached(
          () -> {
            call.run();
            return null;
          });
    }
  }

  @Override
  public final void sendMessage(Q message) {
    checkState(listener != null, "Not started");
    checkState(!cancelled, "call was cancelled");
    checkState(!halfClosed, "call was half-closed");
    Integer limit = options.getMaxOutboundMessageSize();
    if (limit != null && isTooLarge(message, limit)) {
      return;
    }
    whenOpen(() -> send(message));
  }

  private boolean isTooLarge(Q message, int limit) {
    Output measured = new Output();
    known.requests().encode(message, measured);
    if (measured.length() <= limit) {
      return false;
    }
    String text = "message too large " + measured.length() + " > " + limit;
    stop(
        Status.CANCELLED
            .withDescription("Failed to stream message")
            .withCause(Status.RESOURCE_EXHAUSTED.withDescription(text).asRuntimeException()));
    return true;
  }

  @Override
  public final void halfClose() {
    checkState(listener != null, "Not started");
    checkState(!cancelled, "call was cancelled");
    checkState(!halfClosed, "call already half-closed");
    halfClosed = true;
    whenOpen(this::endRequests);
  }

  @Override
  public final void cancel(@Nullable String message, @Nullable Throwable cause) {
    cancelled = true;
    stop(
        Status.CANCELLED
            .withDescription(message == null ? "Call cancelled without message" : message)
            .withCause(cause));
  }

  /** gRPC's context is cancelled. */
  @Override
  public final void cancelled(Context of) {
    stop(ofContext());
  }

  private Status ofContext() {
    if (deadline != null && context.cancellationCause() instanceof TimeoutException) {
      return late("");
    }
    Status status = Contexts.statusFromCancelled(context);
    return status == null ? Status.CANCELLED : status;
  }

  @Override
  public final Attributes getAttributes() {
    String peer = peer();
    Attributes.Builder found = Attributes.newBuilder();
    SocketAddress remote = Places.of(peer);
    if (remote != null) {
      found.set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, remote);
    }
    Connection connection = peer.isEmpty() ? null : channel.connection(peer);
    if (connection != null) {
      Places.describe(found, connection.local(), connection.tls());
    }
    return found.build();
  }

  /** Whether what is sent is passed on. Until then nothing says how much there is room for. */
  final boolean isPassing() {
    return passing;
  }

  final boolean isHalfClosed() {
    return halfClosed;
  }

  final synchronized boolean isStopped() {
    return stopped != null;
  }

  final void checkStarted() {
    checkState(listener != null, "Not started");
  }

  static void checkCount(int count) {
    if (count < 0) {
      throw new IllegalArgumentException("Number requested must be non-negative");
    }
  }

  static void checkState(boolean right, String otherwise) {
    if (!right) {
      throw new IllegalStateException(otherwise);
    }
  }

  // Its end.

  /** This side ends the call. Any thread. */
  final void stop(Status status) {
    synchronized (this) {
      if (stopped != null) {
        return;
      }
      stopped = status;
      held = null;
    }
    abandon();
    serial.execute(() -> close(status, new Metadata()));
  }

  /** The call has failed. On the serial. */
  final void fail(Throwable failure) {
    if (!(failure instanceof StatusException told)) {
      close(Status.fromThrowable(failure), new Metadata());
      return;
    }
    if (!told.headers().isEmpty()) {
      tellHeaders(told.headers());
    }
    boolean late = deadline != null && deadline.isExpired();
    // The server may be the first to tell that the time is over.
    boolean plain = told.trailers().isEmpty() && told.status().details().isEmpty();
    if (deadline != null
        && (told.code() == Code.DEADLINE_EXCEEDED && (told.status().local() || late && plain)
            || told.code() == Code.CANCELLED && late)) {
      close(late(told.status().message()).withCause(told), new Metadata());
    } else {
      close(Statuses.toGrpc(told), Statuses.trailers(told));
    }
  }

  /** The deadline has passed, in the words of gRPC. */
  private Status late(String more) {
    String text =
        String.format(
            Locale.ROOT,
            "%s deadline exceeded after %.9fs. [%s]",
            whose(),
            (System.nanoTime() - began) / NANOS,
            more);
    return Status.DEADLINE_EXCEEDED.withDescription(text);
  }

  private String whose() {
    return deadline != null && deadline.equals(context.getDeadline()) ? "Context" : "CallOptions";
  }

  // The listener. On the serial.

  final void tellHeaders(io.trunkcall.Metadata headers) {
    if (headersTold) {
      return;
    }
    headersTold = true;
    Metadata told = Entries.toGrpc(headers);
    tracing.headers(told);
    tell("headers", one -> one.onHeaders(told));
  }

  final void tellMessage(R message) {
    tell("message.", one -> one.onMessage(message));
  }

  final void tellReady() {
    tell("ready", Listener::onReady);
  }

  private void tell(String what, java.util.function.Consumer<Listener<R>> how) {
    Listener<R> to = listener;
    if (over || to == null || isStopped()) {
      return;
    }
    Context before = context.attach();
    try {
      how.accept(to);
    } catch (Throwable e) {
      stop(Status.CANCELLED.withCause(e).withDescription("Failed to read " + what));
    } finally {
      context.detach(before);
    }
  }

  final void close(Status status, Metadata trailers) {
    Listener<R> to = listener;
    if (over || to == null) {
      return;
    }
    over = true;
    context.removeListener(this);
    Status own;
    synchronized (this) {
      own = stopped;
    }
    Status told = own == null ? status : own;
    Metadata behind = own == null ? trailers : new Metadata();
    tracing.ended(told, behind);
    Context before = context.attach();
    try {
      to.onClose(told, behind);
    } catch (Throwable e) {
      Serial.LOGGER.log(System.Logger.Level.WARNING, "a listener's onClose threw", e);
    } finally {
      context.detach(before);
    }
  }
}
