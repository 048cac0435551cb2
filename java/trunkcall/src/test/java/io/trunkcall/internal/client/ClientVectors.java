package io.trunkcall.internal.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;

/** spec/vectors/client.json. */
public final class ClientVectors {
  private static final JsonNode ALL = read();

  private ClientVectors() {}

  private static JsonNode read() {
    Path file = Path.of(System.getProperty("trunkcall.tree"), "spec/vectors/client.json");
    try {
      return new ObjectMapper().readTree(file.toFile());
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  /** A test for each entry of a group. */
  public static Stream<DynamicTest> each(String group, Consumer<JsonNode> check) {
    return stream(ALL.get(group))
        .map(one -> DynamicTest.dynamicTest(name(group, one), () -> check.accept(one)));
  }

  private static String name(String group, JsonNode one) {
    return group + " " + (one.has("id") ? one.get("id").asText() : one.toString());
  }

  /** The elements of an array; none if there is no such. */
  public static Stream<JsonNode> stream(JsonNode array) {
    return array == null ? Stream.empty() : StreamSupport.stream(array.spliterator(), false);
  }

  /** An array of texts. */
  public static List<String> texts(JsonNode array) {
    List<String> found = new ArrayList<>();
    stream(array).forEach(one -> found.add(one.asText()));
    return found;
  }

  /** A number of 64 bits. */
  static long word(JsonNode text) {
    return Long.parseUnsignedLong(text.asText(), 16);
  }
}
