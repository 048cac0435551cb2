import io.trunkcall.Balancer;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.EndpointState;
import io.trunkcall.Method;
import io.trunkcall.Picker;
import io.trunkcall.registry.Registry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The client in Java that measure.py has look at a registry: watch of go/measure/main.go, which says
 * what it prints. Its arguments are the registry's name and how many instances there are to be.
 */
public final class Watch {
  private static final String SERVICE = "trunkcall.measure.v1.Many";
  private static final String MARKED = "changing-"; // the ids that come and go

  private Watch() {}

  /** Tells of the endpoints that come and go. It is lazy, so that it is given all of them. */
  private static final class Watching implements Balancer {
    private final int count;
    private Set<String> there = Set.of();
    private boolean ready;

    Watching(int count) {
      this.count = count;
    }

    @Override
    public boolean lazy() {
      return true;
    }

    @Override
    public Picker balance(List<EndpointState> endpoints) {
      long at = System.nanoTime(); // CLOCK_MONOTONIC on Linux
      Set<String> now = new HashSet<>();
      for (EndpointState one : endpoints) {
        String id = one.endpoint().id();
        if (!id.startsWith(MARKED)) {
          break; // the others stand behind them, in the order of the ids
        }
        now.add(id);
        if (!there.contains(id)) {
          say("came", id, at);
        }
      }
      for (String id : there) {
        if (!now.contains(id)) {
          say("went", id, at);
        }
      }
      there = now;
      if (!ready && endpoints.size() >= count) {
        ready = true;
        System.out.println("ready " + endpoints.size());
      }
      return Balancer.first().balance(endpoints.subList(0, Math.min(1, endpoints.size())));
    }
  }

  private static void say(String what, String id, long at) {
    System.out.println(what + " " + id + " " + at);
  }

  /** VmRSS or VmHWM, in bytes. */
  private static long resident(String which) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(which + ":")) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
      }
    }
    throw new IOException("/proc has no " + which);
  }

  private static long heap() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  public static void main(String[] args) throws Exception {
    long heap = heap();
    long before = resident("VmRSS");
    try (Client client =
        Client.builder("registry:" + SERVICE)
            .resolver("registry", Registry.resolver(Registry.open(args[0])))
            .balancer(new Watching(Integer.parseInt(args[1])))
            .dialer((address, endpoint) -> new CompletableFuture<>()) // reaches nobody
            .build()) {
      Method<byte[], byte[]> never =
          Method.unary("/" + SERVICE + "/Never", Codec.raw(), Codec.raw());
      // A call that waits looks at each set, and goes nowhere.
      client.unary(never, new byte[0], CallOptions.NONE.withWaitForReady(true));
      new BufferedReader(new InputStreamReader(System.in)).readLine();
      long most = resident("VmHWM");
      System.out.println("memory " + before + " " + most + " " + heap + " " + heap());
    }
    System.exit(0);
  }
}
