package io.trunkcall.etcd;

import io.etcd.jetcd.Response;
import io.grpc.Status;
import io.trunkcall.registry.RegistryException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Waits for what etcd answers, and sees by it that this is still the same etcd. Used by one thread.
 */
final class Answers {
  static final Duration WITHIN = Duration.ofSeconds(10);

  private static final String FORM = "etcd has answered in another form than it should";

  private long cluster; // 0: nobody has answered yet
  private long revision;

  /**
   * An answer. Throws RegistryException for a failure, one that is late, and one of another etcd.
   */
  <T extends Response> T get(CompletableFuture<T> answer)
      throws RegistryException, InterruptedException {
    T got = await(answer, WITHIN);
    Response.Header header = got.getHeader();
    if (header.getRevision() <= 0) { // none: a proxy or another program has answered
      throw form();
    }
    // One that was emptied, or is another one, would never tell what is behind the last revision.
    if (cluster != 0 && header.getClusterId() != cluster || header.getRevision() < revision) {
      throw new RegistryException("etcd has begun anew");
    }
    cluster = header.getClusterId();
    revision = header.getRevision();
    return got;
  }

  static <T> T await(CompletableFuture<T> answer, Duration atMost)
      throws RegistryException, InterruptedException {
    try {
      return answer.get(atMost.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      answer.cancel(true);
      throw new RegistryException("etcd has not answered for " + atMost.toMillis() + " ms");
    } catch (ExecutionException failed) {
      throw failure(failed.getCause() == null ? failed : failed.getCause());
    }
  }

  /** The failure that is an answer which etcd does not give. */
  static RegistryException form() {
    return new RegistryException(FORM);
  }

  /** A failure in the words of etcd, and of what it follows from, such as a refused connection. */
  static RegistryException failure(Throwable fault) {
    Throwable root = fault;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String said = String.valueOf(fault.getMessage());
    String why = root.getMessage();
    boolean more = why != null && !said.contains(why);
    return new RegistryException("etcd: " + said + (more ? ": " + why : ""), fault);
  }

  /** Whether an answer was too long for the client. */
  static boolean isTooLong(RegistryException fault) {
    return Status.fromThrowable(fault).getCode() == Status.Code.RESOURCE_EXHAUSTED;
  }
}
