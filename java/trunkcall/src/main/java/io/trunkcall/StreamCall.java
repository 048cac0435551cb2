package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.wire.Message;
import io.trunkcall.internal.wire.Opening;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.Session;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A call that is not unary, at its caller: one attempt. What is sent before it is open waits. */
final class StreamCall extends OpeningCall {
  /** Done with how the call ended. */
  final CompletableFuture<Status> status = new CompletableFuture<>();

  /** Done when the metadata ahead of the answer is known. */
  final CompletableFuture<Metadata> headers = new CompletableFuture<>();

  /** Done when the call is open, or has failed to be. */
  final CompletableFuture<MessageStream> open = new CompletableFuture<>();

  final CallerPipe pipe = new CallerPipe();

  private final @Nullable Output first;
  private final @Nullable Output packedFirst; // the same compressed
  private final @Nullable List<Compression> said; // what messages are compressed with
  private final int maxReceive;
  private int sentFirst; // bytes of the first, as it was sent
  private final Codec<Object> requests;
  private final int codec; // its number
  private final Codec<Object> responses;
  private volatile Metadata trailers = Metadata.EMPTY;
  private volatile String peer = "";
  private Pipe.@Nullable Got last; // the answer that came with the end
  private Pipe.@Nullable Ending ending;
  private @Nullable StatusException unsendable; // a message that ended the call

  @SuppressWarnings("unchecked")
  StreamCall(
      Calls calls,
      Method<?, ?> method,
      Metadata metadata,
      @Nullable Output first,
      CallOptions options,
      long deadline,
      long had,
      boolean waitForReady,
      @Nullable Governed governed) {
    super(calls, method, metadata, deadline, had, waitForReady, governed);
    this.first = first;
    this.said = options.compression();
    this.maxReceive = options.maxReceive();
    this.packedFirst = first == null ? null : calls.calling.packed(method, first, said);
    this.requests = (Codec<Object>) method.request();
    this.codec = requests.number();
    this.responses = (Codec<Object>) method.response();
    pipe.block();
  }

  Metadata trailers() {
    return trailers;
  }

  @Override
  String peer() {
    return peer;
  }

  @Override
  @Nullable OutgoingCall append(Session session) {
    Opening opening =
        new Opening()
            .codec(codec)
            .metadata(metadata)
            .end(method.kind().takesOne())
            .single(method.kind().answersOne());
    Output sent = first;
    if (packedFirst != null && session.peer().compressions().contains(packedFirst.compression)) {
      sent = packedFirst;
      opening.compression(packedFirst.compression);
    }
    byte[] array = sent == null ? null : sent.array();
    int length = sent == null ? 0 : sent.length();
    sentFirst = length;
    return session.open(method.wireName(), array, 0, length, opening, deadline, this);
  }

  @Override
  int firstBytes() {
    return sentFirst;
  }

  @Override
  void opened() {
    peer = super.peer();
    pipe.writable();
    open.complete(pipe);
  }

  @Override
  void failed(StatusException failure) {
    ending = new Pipe.Ending(failure);
    pipe.endSending();
    headers.complete(Metadata.EMPTY);
    pipe.over(); // before anybody hears of the end: what is sent then is told that it is over
    status.complete(failure.status());
    open.completeExceptionally(failure);
  }

  @Override
  void ended(OutgoingCall call, Status ended) {
    peer = super.peer();
    trailers = call.trailers();
    StatusException own = unsendable;
    Status said = own == null ? ended : own.status();
    if (said.ok()) {
      ending = new Pipe.Ending(null);
      if (call.hasMessage()) {
        int end = call.offset() + call.length();
        byte[] answer = Arrays.copyOfRange(call.array(), call.offset(), end);
        last = new Pipe.Got(new Message(answer, call.compression()));
      }
    } else {
      ending = new Pipe.Ending(new StatusException(said, trailers, call.header(), peer));
    }
    pipe.endSending();
    headers.complete(call.header());
    pipe.over();
    status.complete(said);
    open.complete(pipe); // if it has ended at once
  }

  @Override
  void header(Metadata metadata) {
    headers.complete(metadata);
  }

  @Override
  void arrived() {
    headers.complete(Metadata.EMPTY);
    pipe.arrived();
  }

  @Override
  void writable() {
    pipe.writable();
  }

  /** Ends the call for a message that cannot be sent, or taken. */
  private void giveUp(StatusException failure, int reason) {
    OutgoingCall call = out();
    Carrier on = on();
    if (isOver()) {
      return;
    }
    if (call == null || on == null) { // it is not open yet, and nothing of it was sent
      fail(Failures.local(failure.code(), failure.status().message(), Delivery.NOT_SENT));
      return;
    }
    unsendable = failure;
    on.session().setNow(Clock.micros());
    call.cancel(reason);
    call.discard();
    on.schedule();
  }

  /** Its messages. */
  final class CallerPipe extends Pipe {
    @Override
    void hand(Runnable work) {
      calls.hand(work);
    }

    @Override
    void handBehind(Runnable work) {
      Carrier on = on();
      if (on != null) {
        on.submit(work);
      } else {
        calls.hand(work);
      }
    }

    @Override
    Output encoded(Object message) {
      try {
        Output out = new Output();
        requests.encode(message, out);
        return out;
      } catch (RuntimeException e) {
        StatusException failure =
            e instanceof StatusException given
                ? Failures.local(given.code(), given.status().message(), Delivery.UNKNOWN)
                : Failures.local(
                    Code.INTERNAL,
                    message == null
                        ? "the request is null"
                        : "the request is not a valid "
                            + requests.name()
                            + " message: "
                            + Failures.spelled(e),
                    Delivery.UNKNOWN);
        calls.hand(() -> giveUp(failure, Session.GAVE_UP));
        throw failure;
      }
    }

    @Override
    Object decoded(Got message) {
      Delivery delivery = status.isDone() ? Delivery.EXECUTED : Delivery.UNKNOWN;
      try {
        return Responses.decoded(
            responses,
            message.array,
            0,
            message.length,
            message.own(),
            message.compression,
            maxReceive,
            calls.calling.packing,
            delivery);
      } catch (StatusException e) {
        calls.hand(() -> giveUp(e, Session.CANNOT_TAKE));
        throw e;
      }
    }

    @Override
    @Nullable Output packed(Output message) {
      return calls.calling.packed(method, message, said);
    }

    @Override
    boolean accepts(int compression) {
      Carrier on = on();
      return on != null && on.session().peer().compressions().contains(compression);
    }

    @Override
    boolean pass(Output message, int compression) {
      OutgoingCall call = out();
      if (call == null) {
        return true;
      }
      boolean more = call.sendOwn(message.array(), 0, message.length(), compression);
      sentMore(message.length());
      return more;
    }

    @Override
    void passHalfClose() {
      OutgoingCall call = out();
      if (call != null) {
        call.halfClose();
      }
    }

    @Override
    void unsendable(RuntimeException error) {
      giveUp(
          Failures.local(
              Code.RESOURCE_EXHAUSTED, String.valueOf(error.getMessage()), Delivery.UNKNOWN),
          Session.GAVE_UP);
    }

    @Override
    @Nullable Message take() {
      OutgoingCall call = out();
      Message found = call == null ? null : call.takeAhead();
      if (found != null) {
        receivedMore(found.length());
      }
      return found;
    }

    @Override
    void received(long bytes) {
      OutgoingCall call = out();
      if (call != null) {
        call.received(bytes);
      }
    }

    @Override
    int ahead() {
      return Message.AHEAD;
    }

    @Override
    @Nullable Got takeLast() {
      Got found = last;
      last = null;
      return found;
    }

    @Override
    @Nullable Ending ended() {
      return ending;
    }

    @Override
    void schedule() {
      Carrier on = on();
      if (on != null) {
        on.schedule();
      }
    }

    @Override
    boolean isOver() {
      return ending != null;
    }
  }
}
