package io.trunkcall.peer;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import com.trunkcall.fault.v1.Answer;
import com.trunkcall.fault.v1.Behaviour;
import com.trunkcall.fault.v1.Gauges;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Receiver;
import io.trunkcall.Sender;
import io.trunkcall.ServerCall;
import io.trunkcall.StatusException;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * FaultService, whose handlers misbehave as they are asked to; see spec/proto/fault/v1/fault.proto.
 */
final class FaultMethods {
  private static final String SERVICE = "/trunkcall.fault.v1.FaultService/";
  private static final Codec<Behaviour> BEHAVIOUR = Codec.protobuf(Behaviour.getDefaultInstance());
  private static final Codec<Answer> ANSWER = Codec.protobuf(Answer.getDefaultInstance());

  static final Method<Behaviour, Answer> BEHAVE =
      Method.unary(SERVICE + "Behave", BEHAVIOUR, ANSWER);
  static final Method<Behaviour, Answer> POUR =
      Method.serverStream(SERVICE + "Pour", BEHAVIOUR, ANSWER);
  static final Method<Behaviour, Answer> TAKE =
      Method.clientStream(SERVICE + "Take", BEHAVIOUR, ANSWER);
  static final Method<Behaviour, Answer> EXCHANGE =
      Method.bidiStream(SERVICE + "Exchange", BEHAVIOUR, ANSWER);
  private static final Method<Empty, Gauges> READ_GAUGES =
      Method.unary(
          SERVICE + "ReadGauges",
          Codec.protobuf(Empty.getDefaultInstance()),
          Codec.protobuf(Gauges.getDefaultInstance()));

  private FaultMethods() {}

  /**
   * {@code running} tells how many handlers run; what Behave is asked goes {@code onward}, if that
   * is there.
   */
  static List<Handler> handlers(LongSupplier running, @Nullable Onward onward) {
    return List.of(
        onward == null
            ? Handler.unary(BEHAVE, FaultMethods::onBehave)
            : Handler.unary(BEHAVE, onward::onBehave),
        Handler.serverStream(POUR, FaultMethods::onPour),
        Handler.clientStream(TAKE, FaultMethods::onTake),
        Handler.bidiStream(EXCHANGE, FaultMethods::onExchange),
        Handler.unary(READ_GAUGES, (request, call) -> gauges(running.getAsLong())));
  }

  private static Answer onBehave(Behaviour request, ServerCall call) throws InterruptedException {
    behave(request, call);
    return answer(request);
  }

  private static void onPour(Behaviour request, Sender<Answer> responses, ServerCall call)
      throws InterruptedException {
    behave(request, call);
    Answer response = answer(request);
    long wanted = Integer.toUnsignedLong(request.getAnswers());
    for (long sent = 0; wanted == 0 || sent < wanted; sent++) {
      if (!responses.send(response)) {
        return;
      }
    }
  }

  private static Answer onTake(Receiver<Behaviour> requests, ServerCall call)
      throws InterruptedException {
    long count = 0;
    long bytes = 0;
    for (Behaviour request : requests) {
      behave(request, call);
      count++;
      bytes += request.getPadding().size();
    }
    return Answer.newBuilder().setRequests(count).setBytes(bytes).build();
  }

  private static void onExchange(
      Receiver<Behaviour> requests, Sender<Answer> responses, ServerCall call)
      throws InterruptedException {
    for (Behaviour request : requests) {
      behave(request, call);
      if (!responses.send(answer(request))) {
        return;
      }
    }
  }

  private static Gauges gauges(long running) {
    System.gc();
    return Gauges.newBuilder()
        .setRunning(running)
        .setTasks(Thread.activeCount())
        .setHeapBytes(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())
        .build();
  }

  private static Answer answer(Behaviour request) {
    return Answer.newBuilder()
        .setData(ByteString.copyFrom(new byte[request.getAnswerBytes()]))
        .setRequests(1)
        .setBytes(request.getPadding().size())
        .build();
  }

  /** Works, waits, then throws or fails, as it is asked. */
  private static void behave(Behaviour request, ServerCall call) throws InterruptedException {
    long began = System.nanoTime();
    long work = Integer.toUnsignedLong(request.getWorkUs()) * 1_000;
    while (work > 0 && System.nanoTime() - began < work) {
      Thread.onSpinWait();
    }
    long wait = TimeUnit.MILLISECONDS.toNanos(Integer.toUnsignedLong(request.getWaitMs()));
    if (wait > 0 && request.getStubborn()) {
      waitWhatever(wait);
    } else if (wait > 0) {
      CountDownLatch ended = new CountDownLatch(1);
      call.onCancel(ended::countDown);
      if (ended.await(wait, TimeUnit.NANOSECONDS)) {
        throw new CancellationException("the call has ended");
      }
    }
    if (request.getPanics()) {
      throw new IllegalStateException(request.getMessage());
    }
    if (request.getCode() != 0) {
      throw new StatusException(Code.of(request.getCode()), request.getMessage());
    }
  }

  /** Waits as a handler does that takes no notice of its being interrupted. */
  private static void waitWhatever(long nanoseconds) {
    long end = System.nanoTime() + nanoseconds;
    boolean interrupted = false;
    for (long left = nanoseconds; left > 0; left = end - System.nanoTime()) {
      try {
        TimeUnit.NANOSECONDS.sleep(left);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
