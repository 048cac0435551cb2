package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What is logged until it is closed. */
public final class Logged extends Handler implements AutoCloseable {
  private static final Logger LOGGER = Logger.getLogger("io.trunkcall"); // or it would be collected

  private final ConcurrentLinkedQueue<String> texts = new ConcurrentLinkedQueue<>();

  /** Begins to take what is logged. */
  public Logged() {
    LOGGER.addHandler(this);
  }

  /** Waits until there is a record with these words. */
  void await(String words) throws InterruptedException {
    for (long end = System.nanoTime() + 60_000_000_000L; System.nanoTime() < end; ) {
      if (texts.stream().anyMatch(one -> one.contains(words))) {
        return;
      }
      Thread.sleep(5);
    }
    fail("the log does not say \"" + words + "\": " + texts);
  }

  /** What has been logged since. */
  public List<String> texts() {
    return List.copyOf(texts);
  }

  @Override
  public void publish(LogRecord record) {
    texts.add(record.getMessage());
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    LOGGER.removeHandler(this);
  }
}
