package io.trunkcall.grpc;

import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.trunkcall.Code;
import io.trunkcall.Compression;
import io.trunkcall.Receiver;
import io.trunkcall.Sender;
import io.trunkcall.StatusException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One call of a method that a service of gRPC's serves. Its listener is called by the tasks of one
 * {@link Serial}, the first of which runs where the handler does, within gRPC's context of the
 * call.
 */
final class ServedStub<Q, R> extends ServerCall<Q, R> implements Inbound.Sink<Q> {
  private static final CompletableFuture<Boolean> SENT = CompletableFuture.completedFuture(true);
  private static final Metadata.Key<String> TIMEOUT =
      Metadata.Key.of("grpc-timeout", Metadata.ASCII_STRING_MARSHALLER);
  private static final long MOST_DIGITS = 100_000_000; // of a timeout: fewer than this

  private final MethodDescriptor<Q, R> descriptor;
  private final io.trunkcall.ServerCall call;
  private final @Nullable Inbound<Q> requests; // of a method that takes many
  private final @Nullable Sender<R> responses; // of a method that answers with many
  private final Serial serial;
  private final Context.CancellableContext context;
  private final Ending<R> ending = new Ending<>();
  private final AtomicInteger wanted = new AtomicInteger();
  private volatile @Nullable Q request; // of a method that takes one, until it was asked for
  private volatile boolean cancelled;

  // Of the service.
  private boolean headersSent;
  private volatile boolean closed;
  private @Nullable R response; // of a method that answers with one
  private volatile CompletableFuture<Boolean> sent = SENT; // the last response

  // On the serial.
  private @Nullable Listener<Q> listener;
  private boolean over;

  /** What the call waits for. It is done when the listener knows, whoever would cancel it. */
  private static final class Ending<R> extends CompletableFuture<R> {
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      return false;
    }
  }

  private ServedStub(
      MethodDescriptor<Q, R> descriptor,
      @Nullable Q request,
      @Nullable Receiver<Q> requests,
      @Nullable Sender<R> responses,
      io.trunkcall.ServerCall call) {
    this.descriptor = descriptor;
    this.request = request;
    this.call = call;
    this.responses = responses;
    this.serial = new Serial(call.wrap(call.executor()));
    this.requests = requests == null ? null : new Inbound<>(requests, serial, this);
    Duration left = call.timeRemaining();
    this.context =
        left == null
            ? Context.ROOT.withCancellation()
            : Context.ROOT.withDeadline(
                Deadline.after(left.toNanos(), TimeUnit.NANOSECONDS), Never.SCHEDULER);
  }

  /** Serves a call: what is returned has the response, if there is one. */
  static <Q, R> CompletionStage<R> serve(
      ServerMethodDefinition<Q, R> served,
      @Nullable Q request,
      @Nullable Receiver<Q> requests,
      @Nullable Sender<R> responses,
      io.trunkcall.ServerCall call) {
    ServedStub<Q, R> made =
        new ServedStub<>(served.getMethodDescriptor(), request, requests, responses, call);
    made.serial.begin(() -> made.start(served));
    return made.ending;
  }

  private void start(ServerMethodDefinition<Q, R> served) {
    Context before = context.attach();
    try {
      Metadata headers = Entries.toGrpc(call.metadata());
      Duration left = call.timeRemaining();
      if (left != null) {
        headers.put(TIMEOUT, timeout(left));
      }
      Listener<Q> made = served.getServerCallHandler().startCall(this, headers);
      if (made == null) {
        throw new NullPointerException("startCall() returned a null listener");
      }
      listener = made;
    } catch (Throwable e) {
      thrown(e);
      context.cancel(null);
      return;
    } finally {
      context.detach(before);
    }
    call.onCancel(this::callCancelled);
    if (responses != null) {
      tell(Listener::onReady);
    }
    if (requests != null) {
      requests.start();
    } else {
      deliver();
    }
  }

  private static String timeout(Duration left) {
    long millis = left.toMillis();
    if (millis == 0) {
      return left.toNanos() / 1_000 + "u";
    }
    return millis < MOST_DIGITS ? millis + "m" : Math.min(left.toSeconds(), MOST_DIGITS - 1) + "S";
  }

  // Requests.

  @Override
  public void request(int count) {
    StubCall.checkCount(count);
    if (requests != null) {
      requests.request(count);
      return;
    }
    wanted.accumulateAndGet(count, (had, more) -> had + more < 0 ? Integer.MAX_VALUE : had + more);
    if (request != null) {
      serial.execute(this::deliver);
    }
  }

  /** The one request of a method that takes one. */
  private void deliver() {
    Q one = request;
    if (one != null && listener != null && wanted.get() > 0) {
      request = null;
      message(one);
      end(null);
    }
  }

  @Override
  public void message(Q message) {
    if (!cancelled) {
      tell(to -> to.onMessage(message));
    }
  }

  @Override
  public void end(@Nullable Throwable failure) {
    if (failure == null && !cancelled) {
      tell(Listener::onHalfClose);
    } else if (failure != null && !closed && !call.cancelled()) {
      thrown(failure); // a request that is no message
    }
  }

  // The answer.

  @Override
  public void sendHeaders(Metadata headers) {
    StubCall.checkState(!headersSent, "sendHeaders has already been called");
    StubCall.checkState(!closed, "call is closed");
    headersSent = true;
    io.trunkcall.Metadata told = Entries.fromGrpc(headers);
    if (told.isEmpty()) {
      return;
    }
    if (responses == null) {
      call.setHeaders(told); // with the response, as on gRPC
    } else {
      call.sendHeaders(told);
    }
  }

  @Override
  public void sendMessage(R message) {
    StubCall.checkState(headersSent, "sendHeaders has not been called");
    StubCall.checkState(!closed, "call is closed");
    if (responses == null) {
      if (response == null) {
        response = message;
      } else {
        thrown(new StatusException(Code.INTERNAL, "Too many responses"));
      }
      return;
    }
    CompletableFuture<Boolean> sending = responses.sendAsync(message);
    sent = sending;
    if (sending.isCompletedExceptionally()) {
      sending.whenComplete((more, error) -> thrown(error));
    } else if (!sending.isDone()) {
      sending.whenComplete(
          (more, error) -> {
            if (sent == sending && !closed) {
              serial.execute(() -> tell(Listener::onReady));
            }
          });
    }
  }

  @Override
  public boolean isReady() {
    return !closed && StubCall.tookAll(sent);
  }

  @Override
  public void close(Status status, Metadata trailers) {
    StubCall.checkState(!closed, "call already closed");
    if (!status.isOk()) {
      finish(Statuses.fromGrpc(status, trailers));
    } else if (responses == null && response == null) {
      finish(new StatusException(Code.INTERNAL, "Completed without a response"));
    } else {
      io.trunkcall.Metadata behind = Entries.fromGrpc(trailers);
      if (!behind.isEmpty()) {
        call.setTrailers(behind);
      }
      finish(null);
    }
  }

  /** A listener has thrown, or what it was to be told of cannot be. */
  private void thrown(Throwable error) {
    if (closed) {
      Serial.LOGGER.log(
          System.Logger.Level.WARNING,
          descriptor.getFullMethodName() + " threw after its end",
          error);
    } else {
      finish(error);
    }
  }

  /** Ends the call behind the last message that was sent. */
  private void finish(@Nullable Throwable failure) {
    closed = true;
    CompletableFuture<Boolean> last = sent;
    if (last.isDone()) {
      complete(failure);
    } else {
      last.whenComplete((more, error) -> complete(failure));
    }
    serial.execute(() -> over(Listener::onComplete, null));
  }

  private void complete(@Nullable Throwable failure) {
    if (failure != null) {
      ending.completeExceptionally(failure);
    } else {
      ending.complete(response);
    }
  }

  // Its end.

  /** The call has ended without its service. */
  private void callCancelled() {
    cancelled = true;
    Duration left = call.timeRemaining();
    Throwable cause =
        left != null && left.isZero()
            ? new TimeoutException("context timed out")
            : Status.CANCELLED.withDescription("RPC cancelled").asRuntimeException();
    new Serial(call.executor()).execute(() -> context.cancel(cause)); // the service may be at work
    serial.execute(
        () -> {
          over(Listener::onCancel, cause);
          ending.completeExceptionally(new CancellationException());
        });
  }

  private void over(Consumer<Listener<Q>> told, @Nullable Throwable cause) {
    if (over) {
      return;
    }
    tell(told);
    over = true;
    context.cancel(cause);
  }

  private void tell(Consumer<Listener<Q>> how) {
    Listener<Q> to = listener;
    if (over || to == null) {
      return;
    }
    Context before = context.attach();
    try {
      how.accept(to);
    } catch (Throwable e) {
      thrown(e);
    } finally {
      context.detach(before);
    }
  }

  // What is known of it.

  @Override
  public boolean isCancelled() {
    return cancelled;
  }

  @Override
  public MethodDescriptor<Q, R> getMethodDescriptor() {
    return descriptor;
  }

  @Override
  public void setCompression(String compressor) {
    StubCall.checkState(!headersSent, "sendHeaders has been called");
    Compression[] found = Compressors.named(compressor);
    if (found == null) {
      throw new IllegalArgumentException("Unable to find compressor by name " + compressor);
    }
    call.setCompression(found);
  }

  @Override
  public SecurityLevel getSecurityLevel() {
    return call.tls() == null ? SecurityLevel.NONE : SecurityLevel.PRIVACY_AND_INTEGRITY;
  }

  @Override
  public Attributes getAttributes() {
    Attributes.Builder found = Attributes.newBuilder();
    SocketAddress remote = Places.of(call.peer());
    if (remote != null) {
      found.set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, remote);
    }
    Places.describe(found, call.connection().local(), call.tls());
    return found.build();
  }
}
