package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.EndpointState;
import io.trunkcall.Picker;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Turns by weight (client.md 10.6). The clients of one balancer share its counters. */
final class RoundRobin implements Balancer {
  private final AtomicLong first;
  private final AtomicLong further; // of calls that avoid an endpoint

  RoundRobin(long first, long further) {
    this.first = new AtomicLong(first);
    this.further = new AtomicLong(further);
  }

  @Override
  public String name() {
    return "round_robin";
  }

  @Override
  public Picker balance(List<EndpointState> endpoints) {
    return Candidates.eager(endpoints, Turns::new);
  }

  private final class Turns implements Candidates.Group {
    private final List<EndpointState> among;
    private final long[] weights;
    private final long most;

    Turns(List<EndpointState> among) {
      this.among = among;
      this.weights =
          among.stream().mapToLong(one -> Math.max(one.endpoint().weight(), 1)).toArray();
      long heaviest = 1;
      for (long weight : weights) {
        heaviest = Math.max(heaviest, weight);
      }
      this.most = heaviest;
    }

    @Override
    public List<EndpointState> among() {
      return among;
    }

    @Override
    public EndpointState choose(@Nullable EndpointState avoid) {
      if (avoid == null) {
        return next(first);
      }
      if (among.size() == 1 || !among.contains(avoid)) {
        return next(further);
      }
      return new Turns(among.stream().filter(one -> one != avoid).toList()).next(further);
    }

    private EndpointState next(AtomicLong counter) {
      int n = among.size();
      while (true) {
        long turn = counter.getAndIncrement();
        int at = (int) Long.remainderUnsigned(turn, n);
        long round = Long.remainderUnsigned(Long.divideUnsigned(turn, n), most);
        if ((weights[at] * round + at * (most / 2)) % most >= most - weights[at]) {
          return among.get(at);
        }
      }
    }
  }
}
