package io.trunkcall.lab.program;

import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Handlers on virtual threads, where the runtime has them. */
public final class VirtualThreads {
  private VirtualThreads() {}

  /** Adds the flag that asks for them. */
  public static Flags.Value<Boolean> flag(Flags flags) {
    return flags.toggle("--virtual", "run handlers on virtual threads; wants Java 21 or later");
  }

  /** A thread for each task. By reflection: this is built for Java 17, which has none. */
  public static ExecutorService executor() throws UsageError {
    check();
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("virtual threads cannot be had", e);
    }
  }

  /** Turns the flag down where there are none. */
  public static void check() throws UsageError {
    if (Runtime.version().feature() < 21) {
      throw new UsageError(
          "--virtual wants Java 21 or later, this is " + Runtime.version().feature());
    }
  }
}
