package io.trunkcall.registry;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Endpoint;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** A set is made of the last one and of what has changed since (registry.md 6). */
final class ViewTest {
  private static final long MISSING = 60_000_000;

  private final Random random = new Random(3);

  private static Entry entry(int number, String version) {
    ServiceRecord record =
        ServiceRecord.builder("s", "instance-%05d".formatted(number), "10.0.0." + number + ":4000")
            .zone("here")
            .version(version)
            .build();
    return Entry.of(record.id(), record.toBytes());
  }

  /** Section 6 as it stands, of all that there is each time. */
  private static final class Plain {
    final Map<String, Entry> there = new HashMap<>();
    final TreeMap<String, Endpoint> good = new TreeMap<>();
    final Map<String, Long> missing = new HashMap<>();

    long present() {
      return there.keySet().stream().filter(good::containsKey).count();
    }

    void change(long at, List<Entry> came, List<String> went) {
      long before = present();
      for (String id : went) {
        if (there.remove(id) != null && good.containsKey(id)) {
          missing.put(id, at);
        }
      }
      for (Entry one : came) {
        there.put(one.id(), one);
        try {
          good.put(one.id(), ServiceRecord.parseAt("s", one.id(), one.data()).toEndpoint());
        } catch (InvalidRecordException rubbish) {
          // The last good one counts.
        }
        if (good.containsKey(one.id())) {
          missing.remove(one.id());
        }
      }
      if (before == 0 && present() > 0) {
        missing.replaceAll((id, since) -> at);
      }
      compute(at);
    }

    void compute(long at) {
      long present = present();
      if (present == 0) {
        return;
      }
      missing.entrySet().removeIf(one -> at - one.getValue() >= MISSING);
      boolean few = present < missing.size();
      good.keySet().removeIf(id -> !there.containsKey(id) && !(few && missing.containsKey(id)));
    }
  }

  /** What a view hands over, and how often. */
  private static final class Last implements View.Told {
    List<Endpoint> set = List.of();
    int handed;

    @Override
    public void handed(long at, List<Endpoint> now) {
      assertNotEquals(set, now);
      Map<String, Endpoint> before = new HashMap<>();
      set.forEach(one -> before.put(one.id(), one));
      for (Endpoint one : now) {
        Endpoint was = before.get(one.id());
        if (one.equals(was)) {
          assertSame(was, one); // by which a client knows it
        }
      }
      set = now;
      handed++;
    }

    @Override
    public void leftOut(long at, List<View.LeftOut> some, int more) {}

    @Override
    public void failing(long at, String why) {}

    @Override
    public void again(long at) {}

    @Override
    public void kept(long at, int instances) {}
  }

  @Test
  void isTheSameAsOneMadeOfAllThatThereIs() {
    int handed = 0;
    for (int round = 0; round < 50; round++) {
      Last last = new Last();
      View view = new View("s", last);
      Plain plain = new Plain();
      long at = 0;
      for (int step = 0; step < 200; step++) {
        at += 20_000 + random.nextInt(300_000); // µs
        at += random.nextInt(20) == 0 ? MISSING : 0;
        for (long due = view.due(); due <= at; due = view.due()) {
          view.compute(due);
          plain.compute(due);
        }
        List<Entry> came = new ArrayList<>();
        List<String> went = new ArrayList<>();
        for (int more = random.nextInt(4); more > 0; more--) {
          Entry one = entry(random.nextInt(40), random.nextInt(5) == 0 ? "2" : "1.4.2");
          boolean rubbish = random.nextInt(5) == 0;
          came.add(rubbish ? Entry.of(one.id(), "rubbish".getBytes(UTF_8)) : one);
        }
        int most = random.nextInt(10) == 0 ? 60 : 3; // now and then most of them
        for (int less = random.nextInt(most); less > 0; less--) {
          went.add(entry(random.nextInt(40), "").id());
        }
        if (random.nextInt(10) == 0) {
          Map<String, Entry> whole = new HashMap<>();
          came.forEach(one -> whole.put(one.id(), one));
          List<Entry> all = List.copyOf(whole.values());
          List<String> gone =
              plain.there.keySet().stream().filter(id -> !whole.containsKey(id)).toList();
          view.all(at, all);
          plain.change(at, all, gone);
        } else {
          view.change(at, came, went);
          plain.change(at, came, went);
        }
        if (plain.present() > 0) {
          assertEquals(List.copyOf(plain.good.values()), last.set);
        }
      }
      handed += last.handed;
    }
    assertTrue(handed > 2_000, "handed over " + handed + " sets");
  }
}
