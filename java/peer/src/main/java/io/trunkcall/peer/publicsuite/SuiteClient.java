package io.trunkcall.peer.publicsuite;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Makes the calls that it is asked for on one stream, natively, and says on another what came of
 * each.
 */
public final class SuiteClient {
  private static final int AT_ONCE = 8; // calls

  private final Schema schema;
  private final InputStream in;
  private final OutputStream out;
  private final ReentrantLock writing = new ReentrantLock();
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "connect-client");
            thread.setDaemon(true);
            return thread;
          });

  /** Speaks over these streams. */
  public SuiteClient(Schema schema, InputStream in, OutputStream out) {
    this.schema = schema;
    this.in = in;
    this.out = out;
  }

  /** Makes the calls until there are no more. */
  public void run() throws IOException, InterruptedException {
    Semaphore slots = new Semaphore(AT_ONCE);
    CompletableFuture<@Nullable Void> told = CompletableFuture.completedFuture(null);
    for (Parts one = next(); one != null; one = next()) {
      Parts wanted = one;
      slots.acquire();
      CompletableFuture<@Nullable Void> telling =
          CompletableFuture.runAsync(() -> tell(wanted), threads)
              .whenComplete((done, error) -> slots.release());
      told = told.thenCombine(telling, (before, now) -> now);
    }
    try {
      told.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof IOException unwritten ? unwritten : new IOException(e);
    }
  }

  private @Nullable Parts next() throws IOException {
    return schema.read(in, "ClientCompatRequest");
  }

  private void tell(Parts wanted) {
    Made told = schema.make("ClientCompatResponse").set("test_name", wanted.text("test_name"));
    try {
      told.set("response", new WantedCall(schema, wanted).carryOut());
    } catch (Exception e) {
      told.set("error", told.part("error").set("message", e.toString()).message());
    }
    writing.lock();
    try {
      Schema.write(out, told.message());
    } catch (IOException e) {
      throw new CompletionException(e);
    } finally {
      writing.unlock();
    }
  }
}
