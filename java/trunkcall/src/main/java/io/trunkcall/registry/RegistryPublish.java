package io.trunkcall.registry;

import com.trunkcall.registry.v1.PublishAnswer;
import com.trunkcall.registry.v1.PublishRequest;
import io.trunkcall.Code;
import io.trunkcall.Receiver;
import io.trunkcall.Sender;
import io.trunkcall.StatusException;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** A call of Publish (registry.md 9.3). */
final class RegistryPublish extends RegistryCall<PublishAnswer> {
  private final Receiver<PublishRequest> requests;
  private boolean published;
  private int answers; // that are to be sent

  RegistryPublish(
      RegistryServer registry,
      long number,
      Sender<PublishAnswer> answers,
      Receiver<PublishRequest> requests) {
    super(registry, number, answers);
    this.requests = requests;
  }

  @Override
  void begun() {
    requests.receiveAsync().whenCompleteAsync(this::received, registry.thread());
  }

  private void received(@Nullable PublishRequest request, @Nullable Throwable fault) {
    if (fault != null) {
      end(
          fault instanceof CompletionException && fault.getCause() != null
              ? fault.getCause()
              : fault);
    } else if (!published) {
      published = true;
      List<byte[]> records = request == null ? List.of() : RegistryServer.records(request);
      registry.event(() -> registry.core().publish(number, records));
      begun();
    } else if (request == null) {
      end(null);
    } else if (request.getRecordsCount() > 0) {
      end(new StatusException(Code.INVALID_ARGUMENT, "records: want none in a renewal"));
    } else {
      registry.event(() -> registry.core().renew(number));
      begun();
    }
  }

  @Override
  void take(RegistryCore.Telling what) {
    answers += what.answered() ? 1 : 0;
  }

  @Override
  @Nullable PublishAnswer next() {
    if (answers == 0) {
      return null;
    }
    answers--;
    return PublishAnswer.newBuilder().setLeaseMs((int) registry.leaseMillis()).build();
  }
}
