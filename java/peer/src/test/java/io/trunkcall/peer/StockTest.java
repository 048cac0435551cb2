package io.trunkcall.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Handler;
import io.trunkcall.Server;
import io.trunkcall.grpc.GrpcServices;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The stock stubs and services do what typed methods do, each with each. */
@Timeout(90)
class StockTest {
  private static final String USERS = "trunkcall.example.v1.UserService/";
  private static final String BENCH = "trunkcall.bench.v1.BenchService/";

  private static Handler[] handlers(String codec) throws UsageError {
    Flags flags = PeerFlags.of("serve");
    Flags.Value<Work> work = Work.flag(flags);
    flags.parse(List.of());
    if (codec.equals(PeerFlags.STOCK)) {
      return GrpcServices.handlers(new StockUsers(), new StockBench(work.get()));
    }
    List<Handler> all = new ArrayList<>(Users.handlers());
    all.addAll(BenchMethods.handlers(work.get(), false));
    return all.toArray(Handler[]::new);
  }

  private static CarriedOut against(String codec, String command, String... words)
      throws IOException, UsageError {
    try (Server server =
        Server.builder().listen("127.0.0.1:0").serve(handlers(codec)).build().start()) {
      List<String> all =
          new ArrayList<>(List.of(command, "--target", "127.0.0.1:" + server.port()));
      all.addAll(List.of(words));
      return CarriedOut.of(all.toArray(String[]::new));
    }
  }

  static Stream<List<String>> codecs() {
    return Stream.of(
        List.of(PeerFlags.STOCK, PeerFlags.STOCK),
        List.of(PeerFlags.STOCK, PeerFlags.TYPED),
        List.of(PeerFlags.TYPED, PeerFlags.STOCK));
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void callsOfAllKindsAreAnswered(List<String> codecs) throws Exception {
    for (String[] one :
        new String[][] {
          {USERS + "GetUser", "{\"userId\":7}", "user-7"},
          {USERS + "ListUsers", "{\"count\":3}", "user-1", "user-2", "user-3"},
          {USERS + "ListUsers", "{}"},
          {USERS + "WatchUsers", "[{\"userId\":9},{\"userId\":7}]", "user-9", "user-7"},
          {USERS + "WatchUsers", "[]"},
        }) {
      StringBuilder wanted = new StringBuilder();
      for (int i = 2; i < one.length; i++) {
        String name = one[i];
        wanted.append("{\"name\":\"" + name + "\",\"email\":\"" + name + "@example.com\"}\n");
      }
      assertEquals(
          new CarriedOut(0, wanted.toString(), ""),
          against(codecs.get(0), "call", "--codec", codecs.get(1), one[0], one[1]));
    }
    assertEquals(
        new CarriedOut(0, "{\"count\":\"2\"}\n", ""),
        against(codecs.get(0), "call", "--codec", codecs.get(1), USERS + "ImportUsers", "[{},{}]"));
    assertEquals(
        new CarriedOut(0, "{\"entries\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}\n", ""),
        against(codecs.get(0), "call", "--codec", codecs.get(1), BENCH + "GetDictionary", "{}"));
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void failuresAreTheSame(List<String> codecs) throws Exception {
    for (String[] one :
        new String[][] {
          {USERS + "GetUser", "{}"},
          {USERS + "GetUser", "{\"userId\":\"1000000000\"}"},
          {USERS + "ListUsers", "{\"count\":-1}"},
          {USERS + "WatchUsers", "[{\"userId\":7},{},{\"userId\":7}]"},
          {BENCH + "Emit", "{\"size\":16777217}"},
        }) {
      CarriedOut got = against(codecs.get(0), "call", "--codec", codecs.get(1), one[0], one[1]);
      assertEquals(1, got.status(), got.toString());
      assertTrue(got.err().contains("\"delivery\":\"executed\""), got.err());
      assertEquals(
          against(PeerFlags.TYPED, "call", "--codec", PeerFlags.TYPED, one[0], one[1]), got);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "Say, protobuf-stock",
    "Echo, protobuf-stock",
    "EchoStream, protobuf-stock",
    "Emit, protobuf-stock",
    "EchoStream, protobuf",
    "Emit, protobuf",
  })
  void loadIsMeasured(String method, String codec) throws Exception {
    for (String flag : new String[] {"--callers=3", "--async"}) {
      CarriedOut got =
          against(
              PeerFlags.STOCK,
              "bench",
              "--method=" + method,
              "--codec=" + codec,
              "--calls=300",
              "--warmup=0",
              flag);
      assertEquals("", got.err());
      assertEquals(0, got.status());
      assertTrue(got.out().startsWith("{\"calls\":300,\"errors\":0,"), got.out());
    }
  }

  @ParameterizedTest
  @CsvSource({"Say", "Echo"})
  void aConnectionIsMadeForEachCall(String method) throws Exception {
    CarriedOut got =
        against(
            PeerFlags.STOCK,
            "bench",
            "--method=" + method,
            "--codec=protobuf-stock",
            "--calls=20",
            "--warmup=0",
            "--connection-per-call");
    assertEquals("", got.err());
    assertEquals(0, got.status());
  }
}
