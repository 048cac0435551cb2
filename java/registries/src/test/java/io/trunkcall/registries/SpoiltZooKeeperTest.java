package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.registry.Registry;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Answers of ZooKeeper that are spoilt at random are read or refused (registry.md 10.3). */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SpoiltZooKeeperTest {
  static Stream<Long> seeds() {
    return Spoilt.seeds();
  }

  /** Spoils one of the next answers, or none. */
  private static UnaryOperator<byte[]> spoiling(Random random, int at) {
    int[] left = {at};
    return answer -> {
      synchronized (left) {
        return left[0]-- == 0 ? Spoilt.spoilt(random, answer) : answer;
      }
    };
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void areReadOrRefused(long seed) throws Exception {
    Random random = new Random(seed);
    try (PlayedZooKeeper played = new PlayedZooKeeper()) {
      Spoilt.watch(
          Registry.open("zookeeper:127.0.0.1:" + played.port()),
          good -> {
            int at = good ? -1 : random.nextInt(4);
            played.names = spoiling(random, at == 3 ? 0 : -1);
            played.node = spoiling(random, at == 3 ? -1 : at);
          },
          40,
          "seed " + seed);
      int read = played.read();
      assertTrue(read > 10, "seed " + seed + ": " + read + " of 42 asked for what nodes hold");
    }
  }

  /** An error that the library has no exception for has whoever asked told, and not wait. */
  @ParameterizedTest
  @MethodSource("places")
  void anErrorThatThereIsNotIsTold(boolean names) throws Exception {
    UnaryOperator<byte[]> wrong =
        answer -> {
          byte[] made = answer.clone();
          made[12] = 0x11; // of the error's number
          return made;
        };
    try (PlayedZooKeeper played = new PlayedZooKeeper()) {
      played.names = names ? wrong : answer -> answer;
      played.node = wrong;
      String said = Spoilt.failure(Registry.open("zookeeper:127.0.0.1:" + played.port()));
      assertTrue(
          said.startsWith("ZooKeeper: it answered error 285212672 for /trunkcall/v1/s"), said);
    }
  }

  static Stream<Boolean> places() {
    return Stream.of(true, false);
  }
}
