package io.trunkcall.peer;

import com.google.gson.JsonObject;
import com.trunkcall.fault.v1.Answer;
import com.trunkcall.fault.v1.Behaviour;
import io.trunkcall.AttemptObserver;
import io.trunkcall.CallAttempt;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.Metadata;
import io.trunkcall.ServerCall;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A tier between others: calls of Behave are answered by another server, by one client for all. */
final class Onward implements AutoCloseable {
  private final Client client;

  /** {@code policyFile} is empty if there is none. */
  Onward(String address, String policyFile, @Nullable Ledger ledger) {
    ClientBuilder builder = Client.builder(address);
    if (!policyFile.isEmpty()) {
      builder.policyFile(Path.of(policyFile));
    }
    if (ledger != null) {
      builder.attemptObserver(
          new AttemptObserver() {
            @Override
            public void attemptBegan(CallAttempt attempt) {
              JsonObject line = Ledger.line("attempt");
              line.addProperty("number", attempt.number());
              ledger.write(line);
            }

            @Override
            public void attemptEnded(CallAttempt attempt) {}
          });
    }
    client = builder.build();
  }

  Answer onBehave(Behaviour request, ServerCall call) {
    String id = call.metadata().get(Ledger.KEY);
    CallOptions options = CallOptions.NONE;
    return client.call(
        FaultMethods.BEHAVE,
        request,
        id == null ? options : options.withMetadata(Metadata.of(Ledger.KEY, id)));
  }

  @Override
  public void close() {
    client.close();
  }
}
