package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.trunkcall.Endpoint;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;

/** spec/vectors/registry.json. */
final class RegistryVectors {
  private static final JsonNode ALL = read();

  private RegistryVectors() {}

  private static JsonNode read() {
    Path file = Path.of(System.getProperty("trunkcall.tree"), "spec/vectors/registry.json");
    try {
      return new ObjectMapper().readTree(file.toFile());
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  /** A test for each entry of a group. */
  static Stream<DynamicTest> each(String group, Consumer<JsonNode> check) {
    return stream(ALL.get(group))
        .map(one -> DynamicTest.dynamicTest(one.get("id").asText(), () -> check.accept(one)));
  }

  static Stream<JsonNode> stream(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false);
  }

  static List<String> texts(JsonNode array) {
    List<String> found = new ArrayList<>();
    array.forEach(one -> found.add(one.asText()));
    return found;
  }

  /** An object of texts. */
  static Map<String, String> textsByName(JsonNode object) {
    Map<String, String> found = new TreeMap<>();
    object.fields().forEachRemaining(one -> found.put(one.getKey(), one.getValue().asText()));
    return found;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Entries as cases write them: bytes by id. */
  static List<Entry> entries(JsonNode object) {
    List<Entry> found = new ArrayList<>();
    textsByName(object).forEach((id, data) -> found.add(Entry.of(id, bytes(data))));
    return found;
  }

  /** An endpoint as cases write it, without what is as if it were not said. */
  static Endpoint endpoint(JsonNode one) {
    return Endpoint.builder(texts(one.path("addresses")).toArray(String[]::new))
        .id(one.path("id").asText())
        .serverName(one.path("server_name").asText())
        .weight(one.path("weight").asInt(1))
        .zone(one.path("zone").asText())
        .attributes(textsByName(one.path("attributes")))
        .build();
  }

  static ServiceRecord record(JsonNode one) {
    String[] addresses = texts(one.path("addresses")).toArray(String[]::new);
    return ServiceRecord.builder(one.path("service").asText(), one.path("id").asText(), addresses)
        .serverName(one.path("server_name").asText())
        .weight(one.path("weight").asInt(1))
        .zone(one.path("zone").asText())
        .version(one.path("version").asText())
        .attributes(textsByName(one.path("attributes")))
        .build();
  }

  /** That a text is the wanted one, perhaps with a reader's own words behind it. */
  static void assertTold(String want, Throwable fault) {
    String text = fault.getMessage();
    assertTrue(isTold(want, text), () -> text + "\nwant " + want);
  }

  static boolean isTold(String want, String text) {
    return text.equals(want) || text.startsWith(want + ": ");
  }
}
