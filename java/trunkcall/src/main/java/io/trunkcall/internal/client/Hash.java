package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.EndpointState;
import io.trunkcall.Metadata;
import io.trunkcall.Pick;
import io.trunkcall.Picker;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The endpoint to which a key of the call belongs (client.md 10.7). */
final class Hash implements Balancer {
  private final Function<? super Pick, String> key;
  private final LongSupplier draw;

  Hash(Function<? super Pick, String> key, LongSupplier draw) {
    this.key = key;
    this.draw = draw;
  }

  /** The key that is the first value of a metadata entry; empty if there is none. */
  static Function<Pick, String> entry(String name) {
    return call -> {
      for (Metadata.Entry entry : call.metadata().entries()) {
        if (entry.key().equals(name)) {
          String text = entry.text();
          byte[] bytes = entry.bytes();
          return text != null
              ? text
              : bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
        }
      }
      return "";
    };
  }

  @Override
  public String name() {
    return "hash";
  }

  @Override
  public boolean lazy() {
    return true;
  }

  @Override
  public Picker balance(List<EndpointState> endpoints) {
    return new Ranking(Candidates.notFailing(endpoints));
  }

  private final class Ranking implements Picker {
    private final List<EndpointState> endpoints;
    private final long[] hashes;

    Ranking(List<EndpointState> endpoints) {
      this.endpoints = endpoints;
      this.hashes = endpoints.stream().mapToLong(Hash::hashed).toArray();
    }

    @Override
    public @Nullable EndpointState pick(Pick call) {
      if (endpoints.isEmpty()) {
        return null;
      }
      String said = key.apply(call);
      long wanted = said == null || said.isEmpty() ? draw.getAsLong() : Rendezvous.hashed(said);
      EndpointState best = null;
      long highest = 0;
      for (int at = 0; at < hashes.length; at++) {
        EndpointState one = endpoints.get(at);
        if (one == call.avoid() && hashes.length > 1) {
          continue;
        }
        long score = Rendezvous.score(wanted, hashes[at]);
        int order = best == null ? 1 : Long.compareUnsigned(score, highest);
        if (order > 0 || (order == 0 && best != null && comesBefore(one, best))) {
          best = one;
          highest = score;
        }
      }
      return best;
    }
  }

  /** The hash of an endpoint's identity, which a client's own endpoints keep. */
  private static long hashed(EndpointState one) {
    return one instanceof ClientEndpoint known
        ? known.hash
        : Rendezvous.hashed(one.endpoint().identity());
  }

  private static boolean comesBefore(EndpointState one, EndpointState other) {
    byte[] name = one.endpoint().identity().getBytes(StandardCharsets.UTF_8);
    return Arrays.compareUnsigned(
            name, other.endpoint().identity().getBytes(StandardCharsets.UTF_8))
        < 0;
  }
}
