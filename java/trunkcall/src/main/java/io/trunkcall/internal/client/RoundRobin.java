package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.EndpointState;
import io.trunkcall.Picker;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Turns by weight (client.md 10.6). The clients of one balancer share its counter. */
final class RoundRobin implements Balancer {
  private final AtomicLong counter;

  RoundRobin(long counter) {
    this.counter = new AtomicLong(counter);
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
      int n = among.size();
      while (true) {
        long turn = counter.getAndIncrement();
        int at = (int) Long.remainderUnsigned(turn, n);
        long round = Long.remainderUnsigned(Long.divideUnsigned(turn, n), most);
        if ((weights[at] * round + at * (most / 2)) % most >= most - weights[at]) {
          EndpointState one = among.get(at);
          return one != avoid || n == 1 ? one : among.get((at + 1) % n);
        }
      }
    }
  }
}
