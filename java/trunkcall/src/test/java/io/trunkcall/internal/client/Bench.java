package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Delivery;
import io.trunkcall.Endpoint;
import io.trunkcall.EndpointState;
import io.trunkcall.Metadata;
import io.trunkcall.Method;
import io.trunkcall.Resolver;
import io.trunkcall.State;
import io.trunkcall.Status;
import io.trunkcall.internal.transport.VirtualClockwork;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The endpoints of a client without sockets: servers are names that are up or down. */
final class Bench implements Opener, Listener {
  static final Method<byte[], byte[]> METHOD = Method.unary("/p.S/M", Codec.raw(), Codec.raw());
  static final Duration DIALLING = Duration.ofMillis(1); // what an attempt takes
  static final Status OK = Status.OK;
  static final Resolver NONE =
      watch -> {
        throw new AssertionError("nobody asks");
      };

  final VirtualClockwork clockwork = new VirtualClockwork();
  final Set<String> down = new HashSet<>(); // addresses that refuse
  final Set<String> silent = new HashSet<>(); // addresses that never answer
  final List<Dialled> dialled = new ArrayList<>();
  final List<Long> dialledAt = new ArrayList<>(); // ms
  final List<FakeLink> links = new ArrayList<>();
  final List<CompletableFuture<FakeLink>> attempts = new ArrayList<>();
  final List<String> logged = new ArrayList<>();
  final List<String> failed = new ArrayList<>();
  final List<ClientEndpoint> triedAgain = new ArrayList<>();

  Executor threads = work -> clockwork.execute(work);
  Balancer balancer = Balancers.roundRobin(() -> 0);
  int connections = 1;
  int most = 20;
  Duration idle = Duration.ZERO;
  int changes;
  private @Nullable Endpoints made;

  /** The endpoints of a target; schemes are answered by {@code resolver}. */
  Endpoints make(String text, Resolver resolver) {
    made =
        new Endpoints(
            clockwork,
            Target.parse(text, Map.of("test", resolver)),
            balancer,
            this,
            this,
            new Endpoints.Settings(connections, most, idle),
            threads,
            new SplittableRandom(1));
    return made;
  }

  Endpoints make(String text) {
    return make(text, NONE);
  }

  Endpoints endpoints() {
    if (made == null) {
      throw new AssertionError("make them first");
    }
    return made;
  }

  ClientEndpoint endpoint(int at) {
    return endpoints().order().get(at);
  }

  List<State> states() {
    return endpoints().order().stream().map(EndpointState::state).toList();
  }

  /** A call, which has not picked yet. */
  Call call() {
    return new Call(Metadata.EMPTY);
  }

  /** Picks until there is a connection or nothing to hope for; null: none, and why is known. */
  @Nullable FakeLink reach() {
    Call call = call();
    for (int tries = 0; tries < 1_000; tries++) {
      FakeLink link = (FakeLink) endpoints().pick(call);
      if (link != null) {
        link.calls++;
        call.ended(OK);
        return link;
      }
      if (!endpoints().hopeful(call)) {
        return null;
      }
      clockwork.advance(DIALLING);
    }
    throw new AssertionError("it waits for ever");
  }

  /** Makes calls and has attempts end. */
  void calls() {
    reach();
    clockwork.advance(DIALLING.multipliedBy(2));
    reach();
  }

  static Status failed(Code code) {
    return Status.of(code, "failed").withDelivery(Delivery.EXECUTED);
  }

  static final class Call extends Opening {
    private final Metadata metadata;

    Call(Metadata metadata) {
      this.metadata = metadata;
    }

    @Override
    protected Method<?, ?> method() {
      return METHOD;
    }

    @Override
    protected Metadata metadata() {
      return metadata;
    }
  }

  @Override
  public CompletableFuture<? extends Link> open(Connector connector, Dialled what) {
    String address = what.addresses().get(0).toString();
    dialled.add(what);
    dialledAt.add(clockwork.millis());
    CompletableFuture<FakeLink> result = new CompletableFuture<>();
    attempts.add(result);
    if (!silent.contains(address)) {
      clockwork.after(DIALLING, () -> answer(connector, address, result));
    }
    return result;
  }

  private void answer(Connector connector, String address, CompletableFuture<FakeLink> result) {
    if (result.isDone()) {
      return;
    }
    if (down.contains(address)) {
      result.completeExceptionally(new IOException(address + ": refused"));
      return;
    }
    FakeLink link = new FakeLink(connector, address, clockwork.nanos());
    links.add(link);
    connector.connected(link);
    result.complete(link);
  }

  @Override
  public void changed() {
    changes++;
  }

  @Override
  public Object slots(ClientEndpoint endpoint) {
    return "slots of " + endpoint.endpoint();
  }

  @Override
  public void tryAgain(ClientEndpoint endpoint) {
    triedAgain.add(endpoint);
  }

  @Override
  public void connectFailed(Endpoint endpoint, String why) {
    failed.add(endpoint + ": " + why);
  }

  @Override
  public void log(System.Logger.Level level, String text, @Nullable Throwable fault) {
    logged.add(level + " " + text);
  }
}
