package io.trunkcall.peer.conformance;

import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.Failure;
import com.trunkcall.conformance.v1.Outcome;
import com.trunkcall.conformance.v1.Plan;
import com.trunkcall.conformance.v1.Request;
import com.trunkcall.conformance.v1.When;
import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Sender;
import io.trunkcall.ServerCall;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One call of a handler, which goes by the plan of its first request. */
final class Handling {
  /** Where requests come from; null at their end. */
  @FunctionalInterface
  interface Requests {
    @Nullable Request next();
  }

  private final Plan plan;
  private final Requests requests;
  private final @Nullable Sender<Answer> send; // null: there is one answer, at the end
  private final ServerCall call;
  private final Sight sight;
  private @Nullable Outcome onward;
  private int sent;

  Handling(
      Plan plan, Requests requests, @Nullable Sender<Answer> send, ServerCall call, Sight sight) {
    this.plan = plan;
    this.requests = requests;
    this.send = send;
    this.call = call;
    this.sight = sight;
  }

  /** Makes the handler's own call and sets the metadata of the answer. */
  void prepare() throws InterruptedException {
    if (plan.hasOnward()) {
      onward = OnwardCall.make(call, plan.getOnward());
    }
    Metadata header = CaseData.fromEntries(plan.getHeaderList());
    if (plan.getHeaderEarly()) {
      call.sendHeaders(header);
    } else {
      call.setHeaders(header);
    }
    call.setTrailers(CaseData.fromEntries(plan.getTrailerList()));
  }

  /** Reads the requests, of which the first is there, and sends the answers, as the plan says. */
  void exchange(@Nullable Request first) {
    if (first != null) {
      sight.add(first.getData());
    }
    When when = plan.getWhen();
    Sender<Answer> to = send;
    if (to == null) {
      if (when != When.UNREAD) {
        readAll();
      }
      return;
    }
    switch (when) {
      case UNREAD -> sendAll(to);
      case AFTER_EACH -> {
        for (Request in = first; in != null; in = read()) {
          to.send(answer(in));
        }
      }
      case AT_ONCE -> {
        sendAll(to);
        readAll();
      }
      default -> {
        readAll();
        sendAll(to);
      }
    }
  }

  private @Nullable Request read() {
    Request in = requests.next();
    if (in != null) {
      sight.add(in.getData());
    }
    return in;
  }

  private void readAll() {
    while (read() != null) {
      // what came is in sight
    }
  }

  private void sendAll(Sender<Answer> to) {
    for (int i = 0; i < plan.getAnswersCount(); i++) {
      to.send(answer(null));
    }
  }

  /** The next answer: to a request, if it is given. */
  private Answer answer(@Nullable Request to) {
    Answer.Builder answer = Answer.newBuilder();
    if (onward != null) {
      answer.setOnward(onward);
    }
    int sizes = plan.getAnswersCount();
    if (sizes > 0) {
      answer.setData(CaseData.make(plan.getAnswers(sent % sizes), plan.getNoise()));
    } else if (to != null) {
      answer.setData(to.getData());
    }
    if (!plan.getBare()) {
      answer.setSeen(sight.tell());
    }
    sent++;
    return answer.build();
  }

  /** Waits as the plan says. */
  void await() throws InterruptedException {
    CountDownLatch ended = new CountDownLatch(1);
    boolean over;
    if (plan.getUntilEnded()) {
      call.onCancel(ended::countDown);
      ended.await();
      over = true;
    } else if (plan.getWaitMs() != 0) {
      call.onCancel(ended::countDown);
      over = ended.await(Integer.toUnsignedLong(plan.getWaitMs()), TimeUnit.MILLISECONDS);
    } else {
      over = false;
    }
    if (over) {
      throw new CancellationException("the call has ended");
    }
  }

  /** Ends the call. What it returns is the answer if there is one only. */
  Answer finish() {
    if (!plan.getPanic().isEmpty()) {
      throw new IllegalStateException(plan.getPanic());
    }
    if (plan.hasFailure()) {
      Failure failure = plan.getFailure();
      throw new StatusException(
          Status.of(Code.of(failure.getCode()), failure.getMessage())
              .withDetails(CaseData.fromDetails(failure.getDetailsList())));
    }
    return send == null ? answer(null) : Answer.getDefaultInstance();
  }
}
