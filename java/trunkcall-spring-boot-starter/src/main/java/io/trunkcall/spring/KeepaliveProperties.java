package io.trunkcall.spring;

import io.trunkcall.SideBuilder;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * When connections without input are asked for a sign of life.
 *
 * @param interval After how long, zero for never: 60 s at a server, 20 s at a client unless it is
 *     given.
 * @param timeout How much later a connection without one is given up, 20 s unless it is given.
 */
public record KeepaliveProperties(@Nullable Duration interval, @Nullable Duration timeout) {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  /** Nothing given. */
  static final KeepaliveProperties NONE = new KeepaliveProperties(null, null);

  void apply(SideBuilder<?> builder, Duration usual) {
    if (interval != null || timeout != null) {
      builder.keepalive(interval == null ? usual : interval, timeout == null ? TIMEOUT : timeout);
    }
  }
}
