package io.trunkcall;

import io.trunkcall.internal.client.Repeating;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.wire.LargeArrays;
import io.trunkcall.internal.wire.LimitException;
import io.trunkcall.internal.wire.Message;
import io.trunkcall.internal.wire.Opening;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.Session;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/** A unary or one-way call, with its one repetition. */
final class UnaryCall<R> extends OpeningCall {
  final CallFuture<Response<R>> result = new CallFuture<>(this::cancel);
  private final Output data;
  private final @Nullable Output packed; // the same compressed
  private final Codec<R> response;
  private final int codec;
  private final boolean oneWay;
  private final int maxReceive;
  private final boolean waited; // for by a thread that may turn the loop
  private int sentBytes; // of the attempt under way
  private final @Nullable Boolean repeats; // as its policy says
  private final @Nullable GovernedCall retried; // by a policy file
  private final boolean hedged; // another decides what follows

  UnaryCall(
      Calls calls,
      Method<?, R> method,
      Metadata metadata,
      Output data,
      @Nullable Output packed,
      int maxReceive,
      long deadline,
      long had,
      boolean waitForReady,
      @Nullable Boolean repeats,
      @Nullable Governed governed,
      boolean waited) {
    super(calls, method, metadata, deadline, had, waitForReady, governed);
    this.data = data;
    this.packed = packed;
    this.response = method.response();
    this.codec = method.request().number();
    this.oneWay = method.kind() == Kind.ONE_WAY;
    this.maxReceive = maxReceive;
    this.repeats = repeats;
    this.waited = waited;
    this.retried = governed instanceof GovernedCall one ? one : null;
    this.hedged = governed != null && retried == null;
  }

  @Override
  @Nullable OutgoingCall append(Session session) {
    if (number == 1 && !oneWay && packed == null && metadata.isEmpty()) {
      sentBytes = data.length();
      return session.unary(
          method.wireName(), data.array(), 0, data.length(), codec, deadline, this);
    }
    if (number > 1) {
      try {
        return append(session, number);
      } catch (LimitException e) {
        // There is room for the user's own metadata only.
      }
    }
    return append(session, 0);
  }

  private @Nullable OutgoingCall append(Session session, int attempt) {
    Opening opening = new Opening().codec(codec).metadata(metadata).attempt(attempt).oneway(oneWay);
    Output sent = data;
    if (packed != null && session.peer().compressions().contains(packed.compression)) {
      sent = packed;
      opening.compression(packed.compression);
    }
    sentBytes = sent.length();
    return session.open(method.wireName(), sent.array(), 0, sent.length(), opening, deadline, this);
  }

  @Override
  boolean waited() {
    return waited;
  }

  @Override
  int firstBytes() {
    return sentBytes;
  }

  @Override
  boolean again(OutgoingCall call, Status status) {
    if (status.ok() || hedged) {
      return false;
    }
    GovernedCall by = retried;
    if (by != null) {
      long pause = by.again(this, failure(call, status));
      if (pause >= 0) {
        call.discard();
        repeat(pause);
      }
      return pause >= 0;
    }
    if (number > 1 || calls.isClosed() || !calls.mayRepeat(status, repeats)) {
      return false;
    }
    long left = deadline == 0 ? Long.MAX_VALUE : (deadline - Clock.micros()) * 1_000;
    long pause = Repeating.pause(status, left, calls.elsewhere());
    if (pause < 0 || !calls.calling.repeating.take(System.nanoTime())) {
      return false;
    }
    repeat(pause);
    return true;
  }

  @Override
  void failed(StatusException failure) {
    result.completeExceptionally(retried == null ? failure : retried.promising(failure));
  }

  private StatusException failure(OutgoingCall call, Status status) {
    return new StatusException(status, call.trailers(), call.header(), peer());
  }

  @Override
  void ended(OutgoingCall call, Status status) {
    Metadata headers = call.header();
    Metadata trailers = call.trailers();
    if (!status.ok()) {
      call.discard();
      failed(new StatusException(status, trailers, headers, peer()));
      return;
    }
    try {
      R message = oneWay ? null : decoded(call);
      Duration time = Duration.of(call.serverTime(), ChronoUnit.MICROS);
      result.complete(new Response<>(message, headers, trailers, peer(), time));
    } catch (StatusException e) {
      result.completeExceptionally(new StatusException(e.status(), trailers, headers, peer()));
    }
  }

  private R decoded(OutgoingCall call) {
    byte[] array = call.array();
    int offset = call.offset();
    int length = call.length();
    int compression = call.compression();
    if (!call.hasMessage()) {
      Message whole = call.takeMessage();
      if (whole != null) {
        R answer = decoded(whole.array(), 0, whole.length(), whole.compression());
        if (whole.own()) {
          LargeArrays.shared().give(whole.array());
        }
        return answer;
      }
      offset = length = compression = 0;
    }
    return decoded(array, offset, length, compression);
  }

  private R decoded(byte[] array, int offset, int length, int compression) {
    return Responses.decoded(
        response,
        array,
        offset,
        length,
        false,
        compression,
        maxReceive,
        calls.calling.packing,
        Delivery.EXECUTED);
  }
}
