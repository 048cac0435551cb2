package io.trunkcall.internal.wire;

import io.trunkcall.Metadata;

/** The rules of metadata (protocol.md 5), for what travels by other protocols. */
public final class MetadataCheck {
  private MetadataCheck() {}

  /**
   * Checks metadata of requests.
   *
   * @throws IllegalArgumentException for a bad key or value
   * @throws LimitException for more than {@code settings} accept
   */
  public static void check(Metadata metadata, Settings settings) {
    MetadataBlock.write(metadata, 0, settings);
  }
}
