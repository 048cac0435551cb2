package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.EndpointState;
import io.trunkcall.Picker;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The less loaded of two (client.md 10.8). */
final class LeastLoaded implements Balancer {
  private static final int KEPT = 64; // calls in a row for which an endpoint may be kept
  private static final double ALLOWANCE =
      1.25; // while its load is at most so many times the other's

  private final LongSupplier draw;

  LeastLoaded(LongSupplier draw) {
    this.draw = draw;
  }

  @Override
  public String name() {
    return "least_loaded";
  }

  @Override
  public Picker balance(List<EndpointState> endpoints) {
    Kept kept = new Kept();
    return Candidates.eager(endpoints, among -> new Less(among, kept));
  }

  /** The endpoint that a picker keeps. */
  private static final class Kept {
    @Nullable EndpointState one;
    int row; // how often it was picked in a row
  }

  private final class Less implements Candidates.Group {
    private final List<EndpointState> all;
    private final Kept kept;

    Less(List<EndpointState> all, Kept kept) {
      this.all = all;
      this.kept = kept;
    }

    @Override
    public List<EndpointState> among() {
      return all;
    }

    @Override
    public EndpointState choose(@Nullable EndpointState avoid) {
      List<EndpointState> among = all;
      if (avoid != null && all.contains(avoid)) {
        among = new ArrayList<>(all);
        among.remove(avoid);
      }
      int n = among.size();
      if (n == 1) {
        return among.get(0);
      }
      int a = kept.row < KEPT && kept.one != null ? among.indexOf(kept.one) : -1;
      boolean stays = a >= 0;
      if (!stays) {
        a = Balancers.index(draw.getAsLong(), n);
      }
      int b = Balancers.index(draw.getAsLong(), n - 1);
      EndpointState one = among.get(a);
      EndpointState other = among.get(b >= a ? b + 1 : b);
      if (load(one, among) > load(other, among) * (stays ? ALLOWANCE : 1)) {
        one = other;
        stays = false;
      }
      kept.one = one;
      kept.row = stays ? kept.row + 1 : 1;
      return one;
    }
  }

  private static double load(EndpointState one, List<EndpointState> among) {
    double latency = one.latencyNanos();
    return (one.calls() + 1.0) * (latency < 0 ? mean(among) : latency);
  }

  /** The mean latency of those that have one; 1 ns if none has. */
  private static double mean(List<EndpointState> among) {
    double sum = 0;
    int known = 0;
    for (EndpointState one : among) {
      long latency = one.latencyNanos();
      if (latency >= 0) {
        sum += latency;
        known++;
      }
    }
    return known == 0 ? 1 : sum / known;
  }
}
