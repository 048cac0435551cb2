package io.trunkcall.consul;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.trunkcall.registry.Entry;
import io.trunkcall.registry.RegistryException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What lists of keys say (registry.md 10.5). */
final class ListingTest {
  private static Map<String, String> texts(JsonNode object) {
    Map<String, String> found = new TreeMap<>();
    object.fields().forEachRemaining(one -> found.put(one.getKey(), one.getValue().asText()));
    return found;
  }

  private static List<String> list(JsonNode array) {
    List<String> found = new ArrayList<>();
    array.forEach(one -> found.add(one.asText()));
    return found;
  }

  /** The cases of spec/vectors/registry.json. */
  @TestFactory
  Stream<DynamicTest> listings() throws IOException {
    Path file = Path.of(System.getProperty("trunkcall.tree"), "spec/vectors/registry.json");
    JsonNode cases = new ObjectMapper().readTree(file.toFile()).get("listings");
    assertFalse(cases.isEmpty());
    return StreamSupport.stream(cases.spliterator(), false)
        .map(one -> DynamicTest.dynamicTest(one.get("id").asText(), () -> check(one)));
  }

  private static void check(JsonNode test) throws RegistryException {
    Listing listing = new Listing();
    for (int i = 0; i < test.get("steps").size(); i++) {
      Map<String, String> records = texts(test.get("steps").get(i).get("records"));
      JsonNode told = test.get("told").get(i);
      listing.begin();
      List<String> asked = new ArrayList<>();
      for (String name : list(test.get("steps").get(i).get("names"))) {
        if (take(listing, name)) {
          asked.add(name);
        }
      }
      assertEquals(list(told.get("asked")), asked);
      // Of what is spoilt the bytes are not kept.
      List<String> spoilt = list(told.get("spoilt"));
      Map<String, String> want = texts(told.has("all") ? told.get("all") : told.get("came"));
      spoilt.forEach(id -> want.put(id, ""));
      for (String name : asked) {
        if (records.containsKey(name)) {
          listing.put(name, records.get(name).getBytes(UTF_8));
        }
      }
      Map<String, String> came = new TreeMap<>();
      TreeSet<String> faulty = new TreeSet<>();
      for (Entry one : listing.came()) {
        came.put(one.id(), new String(one.data(), UTF_8));
        if (one.fault() != null) {
          faulty.add(one.id());
        }
      }
      assertEquals(want, came);
      assertEquals(new TreeSet<>(spoilt), faulty);
      assertEquals(told.has("all"), listing.isFirst());
      assertEquals(list(told.path("went")), listing.end().stream().sorted().toList());
    }
  }

  /** What stood behind another record of its id is read anew once that has gone. */
  @Test
  void whatCountsAgainIsWantedAgain() throws RegistryException {
    String one = Listing.nameOf("a", new byte[] {1});
    String front = "a/" + "0".repeat(16);
    Listing listing = new Listing();
    for (List<String> names : List.of(List.of(one), List.of(front, one), List.of(one))) {
      listing.begin();
      assertTrue(take(listing, names.get(0)));
      listing.put(names.get(0), new byte[] {1});
      if (names.size() > 1) {
        assertFalse(take(listing, one));
      }
      assertEquals(List.of(), listing.end());
    }
  }

  /** The order is Consul's, but nothing relies on it. */
  @Test
  void namesAreKnownInAnyOrder() throws RegistryException {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      names.add(Listing.nameOf("i" + i, new byte[0]));
    }
    Listing listing = new Listing();
    Random random = new Random(1);
    for (int round = 0; round < 100; round++) {
      listing.begin();
      for (String name : names) {
        if (take(listing, name)) {
          listing.put(name, new byte[0]);
        }
        assertFalse(take(listing, name)); // it is there twice
      }
      assertEquals(round == 0 ? 100 : 0, listing.came().size());
      assertEquals(List.of(), listing.end());
      Collections.shuffle(names, random);
    }
    listing.begin();
    for (String name : names.subList(0, 40)) {
      assertFalse(take(listing, name));
    }
    assertEquals(60, listing.end().size());
  }

  /** Of what is too much, the client is told that it is (registry.md 10.1). */
  @Test
  void isBounded() throws RegistryException {
    Listing listing = new Listing();
    listing.begin();
    byte[] data = new byte[16 << 10];
    for (int i = 0; i < 4_000; i++) { // which is 62.5 MiB
      put(listing, i, data);
    }
    RegistryException full =
        assertThrows(
            RegistryException.class,
            () -> {
              for (int i = 4_000; i < 5_000; i++) {
                put(listing, i, data);
              }
            });
    assertTrue(full.getMessage().contains("at most 100000 of 67108864"), full::getMessage);
  }

  private static boolean take(Listing listing, String name) throws RegistryException {
    return listing.take((":" + name + ":").toCharArray(), 1, name.length() + 1);
  }

  private static void put(Listing listing, int number, byte[] data) throws RegistryException {
    String name = Listing.nameOf("i" + number, data);
    assertTrue(take(listing, name));
    listing.put(name, data);
  }

  @Test
  void anEntryThatIsLongerThanARecordIsNotKept() throws RegistryException {
    Listing listing = new Listing();
    listing.begin();
    put(listing, 1, new byte[(16 << 10) + 1]);
    Entry one = listing.came().get(0);
    assertEquals(0, one.data().length);
    assertEquals("record of 16385 bytes, at most 16384", one.fault());
  }
}
