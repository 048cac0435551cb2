package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The core of the embedded registry, and its file. */
final class CoreVectorsTest {
  @TestFactory
  Stream<DynamicTest> cores() {
    return RegistryVectors.each("cores", one -> new Played(one).check());
  }

  private static final class Played {
    private final JsonNode of;
    private final long lease;
    private final RegistryCore core;
    private final List<String> names = new ArrayList<>(); // of calls, as they begin
    private final List<String> told = new ArrayList<>();
    private long now; // ms

    Played(JsonNode of) {
      this.of = of;
      this.lease = of.get("lease").asLong();
      RegistryCore.Bounds usual = RegistryCore.Bounds.USUAL;
      JsonNode limits = of.get("limits");
      this.core =
          new RegistryCore(
              lease * 1_000,
              new RegistryCore.Bounds(
                  limits.path("keys").asInt(usual.keys()),
                  limits.path("bytes").asLong(usual.bytes()),
                  limits.path("watches").asInt(usual.watches())),
              this::tell);
    }

    private long number(String name) {
      if (!names.contains(name)) {
        names.add(name);
      }
      return names.indexOf(name);
    }

    private void tell(long call, RegistryCore.Telling what) {
      String begin = now + " " + names.get((int) call) + " ";
      Map<String, String> came = new TreeMap<>();
      what.came().forEach(one -> came.put(one.id(), RegistryVectors.text(one.data())));
      if (what.error() != null) {
        told.add(begin + what.error().code() + " " + what.error().message());
      } else if (what.answered()) {
        told.add(begin + "answered");
      } else if (what.all()) {
        told.add(begin + (core.isUnsure() ? "partial " : "all ") + came);
      } else {
        told.add(begin + "came " + came + " went " + what.went());
      }
    }

    private static String want(JsonNode one) {
      String begin = one.get("at").asText() + " " + one.get("to").asText() + " ";
      if (one.has("code")) {
        return begin + one.get("code").asText() + " " + one.get("text").asText();
      } else if (one.has("answered")) {
        return begin + "answered";
      } else if (one.has("all")) {
        return begin + "all " + RegistryVectors.textsByName(one.get("all"));
      } else if (one.has("partial")) {
        return begin + "partial " + RegistryVectors.textsByName(one.get("partial"));
      }
      return begin
          + "came "
          + RegistryVectors.textsByName(one.path("came"))
          + " went "
          + RegistryVectors.texts(one.path("went"));
    }

    private void until(long at, boolean stopped) {
      long each = lease / RegistryCore.TICKS;
      for (long tick = now - now % each + each; tick <= at && !stopped; tick += each) {
        now = tick;
        core.time(tick * 1_000);
      }
      now = at;
      core.time(at * 1_000);
    }

    private static List<byte[]> bytes(JsonNode texts) {
      return RegistryVectors.texts(texts).stream().map(RegistryVectors::bytes).toList();
    }

    private void step(JsonNode step) {
      if (step.has("publish")) {
        core.publish(number(step.get("call").asText()), bytes(step.get("publish")));
      } else if (step.has("watch")) {
        core.watch(number(step.get("call").asText()), step.get("watch").asText());
      } else if (step.has("renew")) {
        core.renew(number(step.get("renew").asText()));
      } else if (step.has("end")) {
        core.end(number(step.get("end").asText()));
      } else if (step.has("restore")) {
        List<Written> records =
            bytes(step.get("restore")).stream()
                .map(one -> new Written(ServiceRecord.parse(one), one))
                .toList();
        core.restore(records, step.path("whole").asBoolean());
      }
    }

    void check() {
      for (JsonNode one : of.get("steps")) {
        until(one.get("at").asLong(), one.path("stopped").asBoolean());
        step(one);
      }
      until(of.get("until").asLong(), false);
      List<String> want = RegistryVectors.stream(of.get("told")).map(Played::want).toList();
      assertEquals(want.size(), told.size(), () -> told + "\nwant " + want);
      for (int i = 0; i < told.size(); i++) {
        String got = told.get(i);
        String wanted = want.get(i);
        assertTrue(RegistryVectors.isTold(wanted, got), () -> got + "\nwant " + wanted);
      }
    }
  }

  private static List<String> texts(RegistryState state) {
    return state.records().stream().map(one -> RegistryVectors.text(one.data())).toList();
  }

  @TestFactory
  Stream<DynamicTest> states() {
    return RegistryVectors.each(
        "states",
        one -> {
          List<String> records = RegistryVectors.texts(one.get("records"));
          byte[] text = RegistryVectors.bytes(one.get("text").asText());
          assertEquals(
              RegistryVectors.text(text),
              RegistryVectors.text(
                  RegistryState.write(records.stream().map(RegistryVectors::bytes).toList())));
          RegistryState read = RegistryState.parse(text);
          assertEquals("", read.fault());
          assertEquals(records, texts(read));
        });
  }

  @TestFactory
  Stream<DynamicTest> badStates() {
    return RegistryVectors.each(
        "bad_states",
        one -> {
          RegistryState read =
              RegistryState.parse(HexFormat.of().parseHex(one.get("hex").asText()));
          String want = one.get("error").asText();
          assertTrue(
              RegistryVectors.isTold(want, read.fault()), () -> read.fault() + "\nwant " + want);
          assertEquals(RegistryVectors.texts(one.get("records")), texts(read));
        });
  }
}
