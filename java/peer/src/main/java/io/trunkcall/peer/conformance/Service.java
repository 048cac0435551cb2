package io.trunkcall.peer.conformance;

import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.ObserveRequest;
import com.trunkcall.conformance.v1.Observed;
import com.trunkcall.conformance.v1.Plan;
import com.trunkcall.conformance.v1.Request;
import io.trunkcall.Handler;
import io.trunkcall.Sender;
import io.trunkcall.ServerCall;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The service that the cases call: its handlers do as the request asks, and tell in their answers
 * what they saw. One may be served by a server, or by a client whose servers call it.
 */
public final class Service {
  private final Handled handled = new Handled();

  /** All methods. */
  public List<Handler> handlers() {
    return List.of(
        Handler.unary(CaseMethods.READ, this::unary).noSideEffects(),
        Handler.unary(CaseMethods.UNARY, this::unary),
        Handler.oneWay(CaseMethods.TELL, this::unary),
        Handler.serverStream(CaseMethods.SERVER_STREAM, this::serverStream),
        Handler.clientStream(
            CaseMethods.CLIENT_STREAM, (requests, call) -> handle(requests::receive, null, call)),
        Handler.bidiStream(
            CaseMethods.BIDI_STREAM,
            (requests, responses, call) -> handle(requests::receive, responses, call)),
        Handler.unary(CaseMethods.OBSERVE, this::observe));
  }

  private Answer unary(Request request, ServerCall call) throws InterruptedException {
    return handle(new Only(request), null, call);
  }

  private void serverStream(Request request, Sender<Answer> responses, ServerCall call)
      throws InterruptedException {
    handle(new Only(request), responses, call);
  }

  private Observed observe(ObserveRequest request, ServerCall call) throws InterruptedException {
    return handled.observe(request.getId(), request.getUntil());
  }

  /** Carries out the plan of the first request; without {@code send} it returns the one answer. */
  private Answer handle(Handling.Requests requests, @Nullable Sender<Answer> send, ServerCall call)
      throws InterruptedException {
    Sight sight = new Sight(call);
    Request first = requests.next();
    Plan plan = first == null ? Plan.getDefaultInstance() : first.getPlan();
    Handling handling = new Handling(plan, requests, send, call, sight);
    handled.started(plan.getId());
    try {
      handling.prepare();
      handling.exchange(first);
      handling.await();
      return handling.finish();
    } finally {
      handled.ended(plan.getId(), call, sight);
    }
  }

  /** The one request of a method that takes one. */
  private static final class Only implements Handling.Requests {
    private @Nullable Request request;

    Only(Request request) {
      this.request = request;
    }

    @Override
    public @Nullable Request next() {
      Request taken = request;
      request = null;
      return taken;
    }
  }
}
