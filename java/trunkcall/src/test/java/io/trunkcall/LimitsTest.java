package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.internal.wire.Settings;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What peers are told of limits, and may do then. */
class LimitsTest {
  @Test
  void peersAreToldThem() {
    Limits limits =
        Limits.DEFAULTS
            .withFrameBytes(1 << 20)
            .withMethods(5_000)
            .withPingInterval(Duration.ofNanos(1_500_000));
    try (Server server = Server.builder().limits(limits).build()) {
      Settings told = server.config().settings();
      assertEquals(1 << 20, told.maxFrameBody());
      assertEquals(5_000, told.maxMethods());
      assertEquals(2, told.minPingInterval()); // ms: never less than what was said
    }
    try (Server server = Server.builder().build()) {
      Settings told = server.config().settings();
      assertEquals(Settings.DEFAULTS.maxFrameBody(), told.maxFrameBody());
      assertEquals(Settings.DEFAULTS.maxMethods(), told.maxMethods());
      assertEquals(Settings.DEFAULTS.minPingInterval(), told.minPingInterval());
    }
  }

  @Test
  void longMetadataFitsIntoLongFrames() throws Exception {
    Limits limits = Limits.DEFAULTS.withFrameBytes(1 << 20).withMetadata(300_000, 128);
    Handler says =
        Handler.unary(Texts.SAY, (request, call) -> String.valueOf(call.metadata().get("b")));
    try (Pair pair = new Pair(s -> s.serve(says).limits(limits), c -> {})) {
      Pair.await(pair.client.connect()); // what the server takes is known then
      String text = "x".repeat(60_000);
      Metadata metadata = Metadata.builder().add("a", text).add("b", text).build();
      CallOptions options = CallOptions.NONE.withMetadata(metadata);
      assertEquals(text, pair.client.call(Texts.SAY, "", options));
    }
  }
}
