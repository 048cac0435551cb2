package io.trunkcall.registry;

import com.google.protobuf.ByteString;
import com.trunkcall.registry.v1.PublishAnswer;
import com.trunkcall.registry.v1.PublishRequest;
import io.trunkcall.Client;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.internal.transport.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Publishes records in an embedded registry (registry.md 9.3). Used by one thread. */
final class EmbeddedKeeping {
  private static final int MOST_PUBLISHED = 128; // records of one call
  private static final long LEASE = 15_000_000; // µs, until the registry has said another
  private static final long LEAST_LEASE = 1_000_000;
  private static final long GREATEST_LEASE = 3_600_000_000L;
  private static final int RENEWS = 3; // in a lease
  private static final long WITHDRAWS = 5_000_000; // µs that it may take

  private final Client client;
  private final List<Part> parts = new ArrayList<>();

  EmbeddedKeeping(Client client, List<Written> records) {
    this.client = client;
    for (int from = 0; from < records.size(); from += MOST_PUBLISHED) {
      int to = Math.min(from + MOST_PUBLISHED, records.size());
      parts.add(new Part(records.subList(from, to)));
    }
  }

  /** Until the thread is interrupted; then it withdraws them. */
  void keep(Runnable published) throws Exception {
    try {
      for (Part part : parts) {
        part.begin();
      }
      try {
        renew(published);
      } catch (InterruptedException end) {
        withdraw();
      }
    } finally {
      parts.forEach(Part::end);
    }
  }

  private void renew(Runnable published) throws Exception {
    boolean told = false;
    while (true) {
      long next = parts.stream().mapToLong(Part::due).min().orElse(Clock.NEVER);
      await(Math.max(next - Clock.micros(), 0));
      for (Part part : parts) {
        part.proceed();
      }
      if (!told && parts.stream().allMatch(part -> part.published)) {
        told = true;
        published.run();
      }
    }
  }

  /** Waits for an answer to any part, at most for a time in µs. */
  private void await(long most) throws InterruptedException {
    CompletableFuture<?>[] answers =
        parts.stream().map(part -> part.answer).toArray(CompletableFuture<?>[]::new);
    CompletableFuture<Object> any = CompletableFuture.anyOf(answers);
    try {
      any.get(most, TimeUnit.MICROSECONDS);
    } catch (TimeoutException | ExecutionException known) {
      any.cancel(false); // what there is each part looks at itself
    }
  }

  private void withdraw() throws Exception {
    parts.forEach(part -> part.stream().halfClose());
    long until = Clock.micros() + WITHDRAWS;
    for (Part part : parts) {
      part.awaitEnd(until);
    }
  }

  /** What is published by one call. */
  private final class Part {
    final PublishRequest request;
    CompletableFuture<@Nullable PublishAnswer> answer = new CompletableFuture<>();
    boolean published;
    private @Nullable ClientStream<PublishRequest, PublishAnswer> stream;
    private CompletableFuture<Boolean> sent = new CompletableFuture<>();
    private long lease = LEASE;
    private long silentAt;
    private long renewAt = Clock.NEVER;

    Part(List<Written> records) {
      PublishRequest.Builder all = PublishRequest.newBuilder();
      records.forEach(one -> all.addRecords(ByteString.copyFrom(one.data())));
      this.request = all.build();
    }

    ClientStream<PublishRequest, PublishAnswer> stream() {
      ClientStream<PublishRequest, PublishAnswer> begun = stream;
      if (begun == null) {
        throw new IllegalStateException("it has not begun");
      }
      return begun;
    }

    void begin() {
      stream = client.stream(Embedded.PUBLISH, null, Embedded.ENDLESS);
      sent = stream().sendAsync(request);
      answer = stream().receiveAsync();
      silentAt = Clock.micros() + lease;
    }

    void end() {
      if (stream != null) {
        stream.cancel();
      }
    }

    /** When it is to proceed though there is no answer. */
    long due() {
      return Math.min(silentAt, renewAt);
    }

    /** Takes the answers that there are, and does what is due. */
    void proceed() throws Exception {
      while (answer.isDone()) {
        PublishAnswer one = result(answer);
        if (one == null) {
          throw new RegistryException("the registry keeps it no more");
        }
        answered(one);
        answer = stream().receiveAsync();
      }
      long now = Clock.micros();
      if (now >= silentAt) {
        String what = published ? "has not answered for " : "could not be reached for ";
        throw new RegistryException("the registry " + what + lease / 1_000 + " ms");
      }
      if (now >= renewAt) {
        renewAt = now + lease / RENEWS;
        if (sent.isDone()) { // else the registry takes nothing, and is silent soon
          sent = stream().sendAsync(PublishRequest.getDefaultInstance());
        }
      }
    }

    private void answered(PublishAnswer one) throws RegistryException {
      long said = Integer.toUnsignedLong(one.getLeaseMs()) * 1_000;
      if (said < LEAST_LEASE || said > GREATEST_LEASE) {
        throw new RegistryException(
            "a lease of "
                + said / 1_000
                + " ms: want "
                + LEAST_LEASE / 1_000
                + " to "
                + GREATEST_LEASE / 1_000);
      }
      long now = Clock.micros();
      lease = said;
      silentAt = now + lease;
      if (!published) {
        published = true;
        renewAt = now + lease / RENEWS;
      }
    }

    /** Waits until the registry has ended the call. */
    void awaitEnd(long until) throws Exception {
      while (true) {
        try {
          answer.get(Math.max(until - Clock.micros(), 0), TimeUnit.MICROSECONDS);
        } catch (TimeoutException late) {
          throw new RegistryException("the registry has not confirmed in time that it withdrew");
        } catch (ExecutionException ended) {
          return; // by its failure, with which the records go as well
        }
        if (result(answer) == null) {
          return;
        }
        answer = stream().receiveAsync(); // that was the answer to a renewal
      }
    }

    private static @Nullable PublishAnswer result(CompletableFuture<@Nullable PublishAnswer> of)
        throws Exception {
      try {
        return of.get();
      } catch (ExecutionException failed) {
        if (failed.getCause() instanceof StatusException refused
            && refused.code() == Code.ALREADY_EXISTS) {
          // It names the key, and is told as by every other store.
          throw new RegistryException(refused.status().message(), refused);
        }
        throw failed.getCause() instanceof Exception cause ? cause : failed;
      }
    }
  }
}
