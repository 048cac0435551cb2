package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Names of registries, what is published, and what DNS answers. */
final class NamesVectorsTest {
  @TestFactory
  Stream<DynamicTest> registries() {
    return RegistryVectors.each(
        "registries",
        one ->
            assertEquals(
                one.get("scheme").asText() + ":" + one.get("rest").asText(),
                Registry.open(one.get("name").asText()).toString()));
  }

  @TestFactory
  Stream<DynamicTest> badRegistries() {
    return RegistryVectors.each(
        "bad_registries",
        one ->
            RegistryVectors.assertTold(
                one.get("error").asText(),
                assertThrows(
                    IllegalArgumentException.class,
                    () -> Registry.open(one.get("name").asText()))));
  }

  @Test
  void anUnknownSchemeIsAnsweredWithThoseThatThereAre() {
    IllegalArgumentException fault =
        assertThrows(IllegalArgumentException.class, () -> Registry.open("foo:bar"));
    String text = fault.getMessage(); // between them are those of other tests
    assertTrue(text.contains("\" is in this program: there are file, "), text);
    assertTrue(text.endsWith(", srv, trunkcall"), text);
    String ours =
        assertThrows(IllegalArgumentException.class, () -> Registry.open("etcd:a:1")).getMessage();
    String begin =
        "registry \"etcd:a:1\": no package for \"etcd\" is in this program: add the artifact"
            + " io.trunkcall:trunkcall-etcd; there are file, ";
    assertTrue(ours.startsWith(begin) && ours.endsWith(", srv, trunkcall"), ours);
  }

  private static List<Written> records(JsonNode given) {
    JsonNode said = given.path("record");
    return new Published(
            RegistryVectors.texts(given.path("names")),
            RegistryVectors.texts(given.path("addresses")),
            given.path("id").asText(),
            said.path("server_name").asText(),
            said.path("weight").asInt(1),
            said.path("zone").asText(),
            said.path("version").asText(),
            RegistryVectors.textsByName(said.path("attributes")))
        .records(
            RegistryVectors.texts(given.path("services")),
            RegistryVectors.texts(given.path("listening")));
  }

  @Test
  void whoServesNothingIsToldWhatToDo() {
    Published said = new Published(List.of(), List.of(), "", "", 1, "", "", Map.of());
    String text =
        assertThrows(
                IllegalArgumentException.class,
                () -> said.records(List.of("grpc.health.v1.Health"), List.of("a:1")))
            .getMessage();
    assertEquals(
        "no service to publish: register services before the server listens, or name them", text);
  }

  @TestFactory
  Stream<DynamicTest> published() {
    return RegistryVectors.each(
        "published",
        one ->
            assertEquals(
                RegistryVectors.texts(one.get("records")),
                records(one.get("given")).stream()
                    .map(written -> RegistryVectors.text(written.data()))
                    .toList()));
  }

  @TestFactory
  Stream<DynamicTest> badPublished() {
    return RegistryVectors.each(
        "bad_published",
        one ->
            RegistryVectors.assertTold(
                one.get("error").asText(),
                assertThrows(IllegalArgumentException.class, () -> records(one.get("given")))));
  }

  @TestFactory
  Stream<DynamicTest> srv() {
    return RegistryVectors.each(
        "srv",
        one -> {
          String service = one.get("service").asText();
          assertEquals(
              one.get("question").asText(), Srv.question(service, one.get("domain").asText()));
          List<Srv.Answer> answers = new ArrayList<>();
          Map<String, String> entries = new TreeMap<>();
          try {
            for (JsonNode each : one.get("answers")) {
              // As JNDI writes them.
              answers.add(
                  Srv.Answer.of(
                      each.get("priority").asText()
                          + " "
                          + each.get("weight").asText()
                          + " "
                          + each.get("port").asText()
                          + " "
                          + each.get("target").asText()));
            }
            for (Entry entry : Srv.entries(service, answers)) {
              entries.put(entry.id(), RegistryVectors.text(entry.data()));
            }
          } catch (RegistryException fault) {
            throw new AssertionError(fault);
          }
          assertEquals(RegistryVectors.textsByName(one.get("entries")), entries);
        });
  }
}
