package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Endpoint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Sets that follow one another are applied as if each came by itself (client.md 7, 8.1, 8.5). */
final class SetsTest {
  private final Random random = new Random(1);

  /** One of few identities, with a description that is often another than before. */
  private Endpoint one() {
    boolean named = random.nextInt(4) > 0;
    String address = named ? "h" + random.nextInt(3) + ":1" : "n" + random.nextInt(20) + ":1";
    Endpoint.Builder made = Endpoint.builder(address).weight(random.nextInt(2));
    return named ? made.id("i" + random.nextInt(60)).build() : made.build();
  }

  /** Some come, some go, two change their places; and some are the same in other objects. */
  private List<Endpoint> next(List<Endpoint> before) {
    List<Endpoint> set = new ArrayList<>(before);
    for (int more = random.nextInt(4); more > 0; more--) {
      set.add(random.nextInt(set.size() + 1), one());
    }
    for (int less = random.nextInt(4); less > 0 && set.size() > 1; less--) {
      int from = random.nextInt(set.size());
      int most = random.nextInt(10) == 0 ? 12 : 3;
      set.subList(from, Math.min(set.size(), from + 1 + random.nextInt(most))).clear();
    }
    if (random.nextInt(3) == 0 && !set.isEmpty()) {
      int other = random.nextInt(set.size());
      Endpoint moved = set.set(other, set.get(0));
      set.set(0, moved);
    }
    if (random.nextInt(3) == 0 && !set.isEmpty()) {
      Endpoint as = set.get(0);
      set.set(0, new Endpoint(as.addresses(), as.id(), "", as.weight(), "", Map.of()));
    }
    return set;
  }

  @Test
  void whoStaysIsTheSameAndWhoIsNoMoreHasLeft() {
    int stayed = 0;
    for (int round = 0; round < 30; round++) {
      Bench bench = new Bench();
      bench.most = 0;
      bench.make("test:rest", watch -> {});
      Resolved.Checked checked = Resolved.Checked.NONE;
      List<Endpoint> set = List.of();
      for (int step = 0; step < 60; step++) {
        set = next(set);
        if (set.isEmpty()) {
          continue;
        }
        Map<String, ClientEndpoint> before = new LinkedHashMap<>();
        Map<String, Endpoint> were = new LinkedHashMap<>();
        for (ClientEndpoint known : bench.endpoints().order()) {
          before.put(known.endpoint().identity(), known);
          were.put(known.endpoint().identity(), known.endpoint());
        }
        checked = checked.next(List.copyOf(set));
        bench.endpoints().apply(checked.found());
        Map<String, Endpoint> want = new LinkedHashMap<>();
        set.forEach(told -> want.putIfAbsent(told.identity(), told));
        List<ClientEndpoint> order = bench.endpoints().order();
        assertEquals(
            List.copyOf(want.values()), order.stream().map(ClientEndpoint::endpoint).toList());
        for (ClientEndpoint now : order) {
          String identity = now.endpoint().identity();
          ClientEndpoint old = before.remove(identity);
          Endpoint was = were.get(identity);
          if (was != null && was.addresses().equals(now.endpoint().addresses())) {
            assertSame(old, now);
            stayed++;
          } else if (old != null) {
            assertNotSame(old, now);
            assertTrue(old.left(), identity);
          }
          assertTrue(!now.left(), identity);
        }
        before.values().forEach(gone -> assertTrue(gone.left(), gone::toString));
      }
    }
    assertTrue(stayed > 1_000, "stayed " + stayed);
  }

  private static List<String> letters(String text) {
    return text.chars().mapToObj(one -> String.valueOf((char) one).intern()).toList();
  }

  @Test
  void whatStandsInTheSameOrderIsRecognised() {
    String[][] cases = {
      {"", "abc", "-1 -1 -1"},
      {"abc", "abc", "0 1 2"},
      {"abc", "ac", "0 2"},
      {"abc", "abxc", "0 1 -1 2"},
      {"abc", "xbc", "-1 1 2"},
      {"abcdefghijklm", "ahijklm", "0 7 8 9 10 11 12"},
      {"abcdefghijklm", "ajklm", "0 -1 -1 -1 -1"}, // too many have gone at once
      {"abc", "cab", "2 -1 -1"},
      {"abc", "aabbcc", "0 -1 1 -1 2 -1"},
    };
    for (String[] one : cases) {
      int[] want = Arrays.stream(one[2].split(" ")).mapToInt(Integer::parseInt).toArray();
      assertArrayEquals(
          want, Places.of(letters(one[1]), letters(one[0])), () -> String.join(" ", one));
    }
  }

  /** Of ten thousand nothing but what has come is checked, and made an endpoint. */
  @Test
  void oneOfTenThousandThatComesIsTheOnlyNewOne() {
    List<Endpoint> many = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      many.add(Endpoint.builder("h" + i + ":1").id("i" + i).build());
    }
    Bench bench = new Bench();
    bench.balancer = Balancers.first(); // which is given all
    bench.make("test:rest", watch -> {});
    Resolved.Checked first = Resolved.Checked.NONE.next(List.copyOf(many));
    bench.endpoints().apply(first.found());
    List<ClientEndpoint> order = bench.endpoints().order();
    many.add(5_000, Endpoint.of("new:1"));
    Resolved.Checked second = first.next(List.copyOf(many));
    bench.endpoints().apply(second.found());
    for (int i = 0; i < 10_000; i++) {
      int at = i < 5_000 ? i : i + 1;
      assertSame(first.found().get(i), second.found().get(at));
      assertSame(order.get(i), bench.endpoint(at));
    }
    assertEquals("new:1", bench.endpoint(5_000).endpoint().identity());
  }

  @Test
  void thoseThatAClientUsesAreTheBestOfAllEveryTime() {
    Bench bench = new Bench();
    bench.make("test:rest", watch -> {});
    List<Endpoint> many = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      many.add(Endpoint.builder("h:1").id("i" + random.nextInt(100_000)).build());
    }
    List<Resolved> found = Resolved.check(many);
    long client = random.nextLong();
    List<String> used =
        bench.endpoints().part(client, found).stream()
            .map(one -> one.endpoint().identity())
            .toList();
    List<String> want =
        found.stream()
            .map(one -> one.endpoint().identity())
            .sorted(
                (a, b) ->
                    Long.compareUnsigned(
                        Rendezvous.score(client, Rendezvous.hashed(b)),
                        Rendezvous.score(client, Rendezvous.hashed(a))))
            .limit(20)
            .toList();
    assertEquals(20, used.size());
    assertTrue(used.containsAll(want), () -> used + ", want " + want);
  }
}
