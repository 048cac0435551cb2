package io.trunkcall.internal.client;

import io.trunkcall.ClientBuilder;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What other packages of this library ask of their own clients: that an endpoint which cannot be
 * reached is told at debug level only, because who asks the client tells of it once.
 */
public final class Unreached {
  private static volatile @Nullable Consumer<ClientBuilder> option;

  private Unreached() {}

  /** {@link ClientBuilder} says how it takes the option, when its class is loaded. */
  public static void option(Consumer<ClientBuilder> how) {
    option = how;
  }

  /** Has the client tell of it at debug level. */
  public static void atDebugLevel(ClientBuilder builder) {
    Objects.requireNonNull(option, "option").accept(builder);
  }
}
