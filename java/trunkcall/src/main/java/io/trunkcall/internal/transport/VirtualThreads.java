package io.trunkcall.internal.transport;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.jspecify.annotations.Nullable;

/** Virtual threads, which runtimes before Java 21 do not have. */
final class VirtualThreads {
  private static final @Nullable MethodHandle IS_VIRTUAL = find();

  private VirtualThreads() {}

  private static @Nullable MethodHandle find() {
    try {
      return MethodHandles.publicLookup()
          .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }

  static boolean isVirtual(Thread thread) {
    MethodHandle asks = IS_VIRTUAL;
    if (asks == null) {
      return false;
    }
    try {
      return (boolean) asks.invokeExact(thread);
    } catch (Throwable e) {
      return true; // it never throws; and nobody waits in the system who may be virtual
    }
  }
}
