package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.trunkcall.Endpoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

final class ViewVectorsTest {
  @TestFactory
  Stream<DynamicTest> watches() {
    return RegistryVectors.each("watches", one -> new Watched(one).check());
  }

  private record Handed(long at, List<Endpoint> set) {}

  /** What was told: the member of the vector that says it, and its value. */
  private record Tale(long at, String what, String value, String text) {
    boolean is(JsonNode want) {
      return at == want.get("at").asLong()
          && want.has(what)
          && value.equals(want.get(what).asText())
          && (text.isEmpty() || RegistryVectors.isTold(want.path("text").asText(), text));
    }
  }

  private static final class Watched implements View.Told {
    private final JsonNode of;
    private final View view;
    private final List<Handed> handed = new ArrayList<>();
    private final List<Tale> told = new ArrayList<>();

    Watched(JsonNode of) {
      this.of = of;
      this.view = new View(of.get("service").asText(), this);
    }

    @Override
    public void handed(long at, List<Endpoint> set) {
      handed.add(new Handed(at / 1_000, set));
    }

    private void tell(long at, String what, Object value, String text) {
      told.add(new Tale(at / 1_000, what, String.valueOf(value), text));
    }

    @Override
    public void leftOut(long at, List<View.LeftOut> some, int more) {
      some.forEach(one -> tell(at, "id", one.entry().id(), one.why()));
      if (more > 0) {
        tell(at, "more", more, "");
      }
    }

    @Override
    public void failing(long at, String why) {
      tell(at, "failed", why, "");
    }

    @Override
    public void again(long at) {
      tell(at, "again", true, "");
    }

    @Override
    public void kept(long at, int instances) {
      tell(at, "kept", instances, "");
    }

    private void until(long end) {
      for (long at = view.due(); at <= end; at = view.due()) {
        view.compute(at);
      }
    }

    void check() {
      for (JsonNode step : of.get("steps")) {
        long at = step.get("at").asLong() * 1_000;
        until(at);
        if (step.has("failed")) {
          view.fail(at, step.get("failed").asText());
        } else if (step.has("all")) {
          view.all(at, RegistryVectors.entries(step.get("all")));
        } else {
          view.change(
              at,
              RegistryVectors.entries(step.path("came")),
              RegistryVectors.texts(step.path("went")));
        }
      }
      until(of.get("until").asLong() * 1_000);
      assertEquals(
          RegistryVectors.stream(of.get("handed"))
              .map(
                  one ->
                      new Handed(
                          one.get("at").asLong(),
                          RegistryVectors.stream(one.get("set"))
                              .map(RegistryVectors::endpoint)
                              .toList()))
              .toList(),
          handed);
      assertEquals(of.get("told").size(), told.size(), () -> Objects.toString(told));
      for (int i = 0; i < told.size(); i++) {
        JsonNode want = of.get("told").get(i);
        Tale got = told.get(i);
        assertTrue(got.is(want), () -> got + "\nwant " + want);
      }
      assertEquals(of.get("reason").asText(), view.reason());
    }
  }
}
