package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.trunkcall.registry.v1.WatchAnswer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Records, files of registries and names in broken form are refused, and nothing else happens. */
final class HostileTextsTest {
  private static final int ROUNDS = 200;

  // What a record is refused with, which names the member that is at fault (registry.md 2.5).
  private static final Pattern REFUSED =
      Pattern.compile(
          "record of \\d+ bytes, at most 16384|not a JSON object|want no control characters"
              + "|(addresses(\\[\\d+])?|attributes|id|server_name|service|version|weight|zone)"
              + ": want ");

  private static List<byte[]> records() throws IOException {
    Path file = Path.of(System.getProperty("trunkcall.tree"), "spec/vectors/registry.json");
    List<byte[]> found = new ArrayList<>();
    for (JsonNode one : new ObjectMapper().readTree(file.toFile()).get("records")) {
      found.add(RegistryVectors.bytes(one.get("input").asText()));
    }
    return found;
  }

  /** Some bytes are others, some are gone, some are there twice, or it is cut off. */
  private static byte[] broken(byte[] whole, Random random) {
    byte[] made = whole.clone();
    for (int changes = random.nextInt(4); changes >= 0 && made.length > 0; changes--) {
      int at = random.nextInt(made.length);
      int length = random.nextInt(Math.min(8, made.length - at) + 1);
      switch (random.nextInt(4)) {
        case 0 -> made[at] = (byte) random.nextInt(256);
        case 1 -> made[at] = (byte) "{}[]\",:\\u0019".charAt(random.nextInt(13));
        case 2 -> {
          byte[] less = new byte[made.length - length];
          System.arraycopy(made, 0, less, 0, at);
          System.arraycopy(made, at + length, less, at, less.length - at);
          made = less;
        }
        default -> {
          byte[] more = new byte[made.length + length];
          System.arraycopy(made, 0, more, 0, at + length);
          System.arraycopy(made, at, more, at + length, made.length - at);
          made = more;
        }
      }
    }
    return made;
  }

  @Test
  void whatIsReadIsWrittenAndReadAgain() throws IOException {
    Random random = new Random(1);
    int good = 0;
    for (byte[] whole : records()) {
      for (int i = 0; i < ROUNDS; i++) {
        byte[] made = broken(whole, random);
        try {
          ServiceRecord read = ServiceRecord.parse(made);
          byte[] written = read.toBytes();
          assertEquals(read, ServiceRecord.parse(written));
          assertArrayEquals(written, ServiceRecord.parse(written).toBytes());
          good++;
        } catch (InvalidRecordException refused) { // and nothing else may become of it
          String text = String.valueOf(refused.getMessage());
          assertTrue(REFUSED.matcher(text).lookingAt(), text);
        }
      }
    }
    assertTrue(good > 0 && good < ROUNDS * records().size());
  }

  @Test
  void ofAFileWhatIsGoodIsKnown() throws IOException {
    Random random = new Random(2);
    List<byte[]> lines = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      lines.add(ServiceRecord.builder("users", "i" + i, "a:" + (i + 1)).build().toBytes());
    }
    byte[] whole = RegistryState.write(lines);
    int good = 0;
    for (int i = 0; i < 10 * ROUNDS; i++) {
      RegistryState read = RegistryState.parse(broken(whole, random));
      if (read.fault().isEmpty()) {
        good++;
        List<byte[]> data = read.records().stream().map(Written::data).toList();
        assertEquals(
            read.records().size(), RegistryState.parse(RegistryState.write(data)).records().size());
      } else {
        checkFault(read.fault(), read.records().size());
      }
    }
    assertTrue(good > 0 && good < 10 * ROUNDS);
  }

  /** The line of a fault follows those of the first text and of the records that are good. */
  private static void checkFault(String fault, int records) {
    String[] parts = fault.split(": ", 2);
    int line =
        switch (parts[1]) {
          case "want \"trunkcall registry 1\"" -> 1;
          case "want nothing behind the end" -> records + 3;
          default -> records + 2;
        };
    assertEquals(line, Integer.parseInt(parts[0]), fault);
    String end = "\"end " + records + "\"";
    assertTrue(
        line != records + 2
            || List.of("want " + end, "want a record or " + end).contains(parts[1])
            || parts[1].endsWith(" is there twice")
            || REFUSED.matcher(parts[1]).lookingAt(),
        fault);
  }

  private static WatchAnswer telling(Random random, boolean first) {
    WatchAnswer.Builder made =
        WatchAnswer.newBuilder()
            .setKind(WatchAnswer.Kind.forNumber(first ? 1 : random.nextInt(3)))
            .setMore(random.nextInt(5) == 0);
    for (int i = 0; i < 3; i++) {
      made.addCame(
          com.trunkcall.registry.v1.Entry.newBuilder()
              .setId("abc".substring(i, i + 1))
              .setRecord(ByteString.copyFrom(new byte[random.nextInt(9)])));
    }
    return first ? made.build() : made.addWent("b").build();
  }

  @Test
  void tellingsAreTakenOrRefused() {
    Random random = new Random(4);
    int taken = 0;
    int refused = 0;
    for (int i = 0; i < 10 * ROUNDS; i++) {
      Map<String, Entry> there = new HashMap<>();
      EmbeddedTellings tellings =
          new EmbeddedTellings(
              all -> {
                there.clear();
                all.forEach(one -> there.put(one.id(), one));
              },
              (came, went) -> {
                came.forEach(one -> there.put(one.id(), one));
                went.forEach(there::remove);
              });
      try {
        for (int part = 0; part < 4; part++) {
          byte[] made = broken(telling(random, part == 0).toByteArray(), random);
          tellings.take(WatchAnswer.parseFrom(made));
          taken++;
        }
      } catch (InvalidProtocolBufferException noAnswer) {
        // Which the client refuses before.
      } catch (RegistryException fault) {
        refused++;
      }
      assertTrue(there.size() <= 15);
    }
    assertTrue(taken > ROUNDS && refused > ROUNDS / 10, taken + " taken, " + refused + " refused");
  }

  @Test
  void namesAreOpenedOrRefusedWithWhatTheyAre() {
    Random random = new Random(3);
    List<String> names =
        List.of("trunkcall:127.0.0.1:4001", "file:/run/x", "srv:example.com", "etcd:a:1/r?lease=3");
    for (String whole : names) {
      for (int i = 0; i < ROUNDS; i++) {
        String name = RegistryVectors.text(broken(RegistryVectors.bytes(whole), random));
        try {
          Registry.open(name);
        } catch (IllegalArgumentException refused) {
          String begin = "registry \"" + name + "\": ";
          assertEquals(begin, refused.getMessage().substring(0, begin.length()));
        }
        Place.parse(name);
      }
    }
  }
}
