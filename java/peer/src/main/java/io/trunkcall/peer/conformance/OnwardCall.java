package io.trunkcall.peer.conformance;

import com.trunkcall.conformance.v1.Onward;
import com.trunkcall.conformance.v1.Outcome;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ServerCall;
import io.trunkcall.Status;
import java.util.concurrent.Executor;

/** Calls that handlers make. */
final class OnwardCall {
  private OnwardCall() {}

  /** Makes the call of a handler. Its deadline is not named: it goes along by itself. */
  static Outcome make(ServerCall own, Onward onward) throws InterruptedException {
    CallOptions options =
        CallOptions.NONE.withMetadata(CaseData.fromEntries(onward.getMetadataList()));
    OutgoingCall outgoing =
        OutgoingCall.plain(
            CaseMethods.called(onward.getMethod(), false), onward.getRequestsList(), options);
    Executor sender = task -> new Thread(task, "sender").start();
    if (onward.getTarget().isEmpty()) {
      return outcome(outgoing.make(own.connection(), sender));
    }
    try (Client client = Client.builder(onward.getTarget()).build()) {
      return outcome(outgoing.make(client, sender));
    }
  }

  private static Outcome outcome(Result got) {
    Outcome.Builder told =
        Outcome.newBuilder()
            .addAllHeader(CaseData.toEntries(got.header))
            .addAllTrailer(CaseData.toEntries(got.trailer))
            .addAllAnswers(got.answers);
    Status failure = got.failure;
    if (failure != null) {
      told.setCode(failure.code().number())
          .setMessage(failure.message())
          .setDelivery(failure.delivery().word())
          .addAllDetails(CaseData.toDetails(failure.details()));
    }
    return told.build();
  }
}
