package io.trunkcall.peer;

import com.google.gson.JsonObject;
import io.trunkcall.Balancer;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.Compression;
import io.trunkcall.Endpoint;
import io.trunkcall.Limits;
import io.trunkcall.Tls;
import io.trunkcall.Watch;
import io.trunkcall.load.UsageError;
import io.trunkcall.peer.conformance.Service;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How the commands make clients. */
final class Clients {
  private static final long READ_AGAIN_MILLIS = 5; // between two looks at a file of endpoints

  private Clients() {}

  /** A builder for a target, which also may be {@code file:FILE}, or in a registry. */
  static ClientBuilder builder(
      String target,
      @Nullable Tls tls,
      Optional<Compression> compression,
      Optional<Source> registry) {
    ClientBuilder builder = Client.builder(target).resolver("file", Clients::fromFile);
    registry.ifPresent(one -> builder.resolver("registry", Registry.resolver(one)));
    compression.ifPresent(builder::compression);
    return tls == null ? builder : builder.tls(tls);
  }

  /** The client; what cannot be is the fault of the command line. */
  static Client build(ClientBuilder builder) throws UsageError {
    try {
      return builder.build();
    } catch (IllegalArgumentException e) {
      throw new UsageError(String.valueOf(e.getMessage()));
    }
  }

  /** The client that a conformance case wants. */
  static Client forCase(String target, JsonObject wanted, JsonObject tls) {
    ClientBuilder builder = Client.builder(target).balancer(Balancer.first());
    if (tls.has("ca")) {
      Path ca = Path.of(tls.get("ca").getAsString());
      builder.tls(
          tls.has("cert")
              ? Tls.mutual(
                  ca, Path.of(tls.get("cert").getAsString()), Path.of(tls.get("key").getAsString()))
              : Tls.trusting(ca));
    }
    if (wanted.has("maxMessage")) {
      builder.limits(Limits.DEFAULTS.withMessageBytes(wanted.get("maxMessage").getAsLong()));
    }
    String compression = text(wanted, "compression");
    if (!compression.isEmpty()) {
      builder.compression(Objects.requireNonNull(PeerFlags.COMPRESSIONS.get(compression)));
    }
    if (wanted.has("serves") && wanted.get("serves").getAsBoolean()) {
      new Service().handlers().forEach(builder::serve);
    }
    return builder.build();
  }

  private static String text(JsonObject of, String key) {
    return of.has(key) ? of.get(key).getAsString() : "";
  }

  /** Endpoints from a file with an address on each line, which may be replaced at any time. */
  private static void fromFile(Watch watch) throws Exception {
    List<String> last = List.of();
    while (true) {
      String text = Files.readString(Path.of(watch.target()));
      List<String> lines = text.lines().map(String::strip).filter(one -> !one.isEmpty()).toList();
      if (!lines.equals(last)) {
        last = lines;
        watch.set(lines.stream().map(Endpoint::of).toList());
      }
      Thread.sleep(READ_AGAIN_MILLIS);
    }
  }
}
