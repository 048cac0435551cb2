package io.trunkcall.codefirst;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.trunkcall.Codec;
import io.trunkcall.Output;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The vectors of code-first.md, replayed as spec/vectors/README.md asks. */
class VectorsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MESSAGE_PACK = 3;
  private static final int AS_JSON = 2;

  private static final JsonNode VECTORS = vectors();

  private static JsonNode vectors() {
    Path file = Path.of(System.getProperty("trunkcall.tree"), "spec/vectors/code-first.json");
    try {
      return JSON.readTree(file.toFile());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private interface Replay {
    void replay(JsonNode vector) throws Exception;
  }

  private static Stream<DynamicTest> each(String group, Replay replay) {
    JsonNode entries = VECTORS.get(group);
    assertTrue(entries.size() > 0, group);
    return StreamSupport.stream(entries.spliterator(), false)
        .map(
            entry -> DynamicTest.dynamicTest(entry.get("id").asText(), () -> replay.replay(entry)));
  }

  /** A method with such parameters and results. */
  private static Signature signature(JsonNode parameters, JsonNode results) {
    List<Declared> declared = new ArrayList<>();
    parameters.forEach(type -> declared.add(VectorTypes.declared(type)));
    return Signature.of("/vectors/method", declared, VectorTypes.results(results));
  }

  private static Codec<Arguments> requests(Signature signature, int number) {
    Codec<Arguments> codec = signature.method(ValueCodec.Form.MESSAGE_PACK).request().in(number);
    assertEquals(number, codec.number());
    return codec;
  }

  private static Codec<Results> responses(Signature signature, int number) {
    return signature.method(ValueCodec.Form.MESSAGE_PACK).response().in(number);
  }

  private static Object[] values(JsonNode types, JsonNode values) {
    Object[] all = new Object[types.size()];
    Arrays.setAll(all, i -> VectorTypes.value(types.get(i), values.get(i)));
    return all;
  }

  /** Appends to what is there, and returns what was appended. */
  private static <T> byte[] encode(Codec<T> codec, T message) {
    Output out = new Output();
    out.write(7);
    codec.encode(message, out);
    assertEquals(7, out.array()[0]);
    return Arrays.copyOfRange(out.array(), 1, out.length());
  }

  /** Decodes what has other bytes around it. */
  private static <T> T decode(Codec<T> codec, byte[] data) {
    byte[] array = new byte[data.length + 20];
    Arrays.fill(array, (byte) 0x91);
    System.arraycopy(data, 0, array, 9, data.length);
    return codec.decode(array, 9, data.length);
  }

  /** Encodes in both codecs, as the vector says. */
  private static <T> void writes(JsonNode vector, Codec<T> codec, T message) throws IOException {
    if (codec.number() == MESSAGE_PACK) {
      assertEquals(
          vector.get("msgpack").asText(), HexFormat.of().formatHex(encode(codec, message)));
    } else {
      String text = new String(encode(codec, message), StandardCharsets.UTF_8);
      assertEquals(JSON.readTree(vector.get("json").asText()), JSON.readTree(text), text);
    }
  }

  private static void assertSame(Object[] want, ValueList got) {
    assertArrayEquals(want, got.values().toArray());
  }

  @Test
  void membersHaveTheirPublicNames() {
    JsonNode names = VECTORS.get("names");
    assertTrue(names.size() > 0);
    names.forEach(
        each ->
            assertEquals(each.get("public").asText(), PublicNames.of(each.get("member").asText())));
  }

  @TestFactory
  Stream<DynamicTest> valuesAreWrittenAndReadBack() {
    return each(
        "values",
        vector -> {
          JsonNode types = JSON.createArrayNode().add(vector.get("type"));
          Signature signature = signature(JSON.createArrayNode(), types);
          Object[] values = {VectorTypes.value(vector.get("type"), vector.get("value"))};
          for (int number : new int[] {MESSAGE_PACK, AS_JSON}) {
            Codec<Results> codec = responses(signature, number);
            Results results = new Results(signature, values.clone());
            writes(vector, codec, results);
            byte[] data = encode(codec, results);
            assertSame(values, decode(codec, data));
            everyCutFails(codec, data);
          }
        });
  }

  /** What is left of a message is at fault, but for a JSON number, whose digits may be fewer. */
  private static void everyCutFails(Codec<?> codec, byte[] data) {
    boolean isNumber = codec.number() == AS_JSON && "\"[{tfn".indexOf(data[0]) < 0;
    for (int i = 0; i < (isNumber ? 1 : data.length); i++) {
      byte[] cut = Arrays.copyOf(data, i);
      assertThrows(StatusException.class, () -> decode(codec, cut), () -> "cut at " + cut.length);
    }
  }

  @TestFactory
  Stream<DynamicTest> requestsAreWrittenAndReadBack() {
    return each(
        "requests",
        vector -> {
          Signature signature = signature(vector.get("types"), JSON.createArrayNode());
          Object[] values = values(vector.get("types"), vector.get("values"));
          for (int number : new int[] {MESSAGE_PACK, AS_JSON}) {
            Codec<Arguments> codec = requests(signature, number);
            Arguments arguments = new Arguments(signature, values.clone());
            writes(vector, codec, arguments);
            byte[] data = encode(codec, arguments);
            assertSame(values, decode(codec, data));
            everyCutFails(codec, data);
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> responsesAreWrittenAndReadBack() {
    return each(
        "responses",
        vector -> {
          Signature signature = signature(JSON.createArrayNode(), vector.get("types"));
          Object[] values = values(vector.get("types"), vector.get("values"));
          Object together = signature.resultForm.together(values);
          for (int number : new int[] {MESSAGE_PACK, AS_JSON}) {
            Codec<Results> codec = responses(signature, number);
            Results results = new Results(signature, signature.resultForm.apart(together));
            writes(vector, codec, results);
            Results back = decode(codec, encode(codec, results));
            assertSame(values, back);
            assertEquals(together, signature.resultForm.together(back.values));
          }
        });
  }

  private static byte[] input(JsonNode vector) {
    String input = vector.get("input").asText();
    return vector.get("codec").asText().equals("json")
        ? input.getBytes(StandardCharsets.UTF_8)
        : HexFormat.of().parseHex(input);
  }

  private static Codec<Arguments> codec(JsonNode vector) {
    int number = vector.get("codec").asText().equals("json") ? AS_JSON : MESSAGE_PACK;
    return requests(signature(vector.get("types"), JSON.createArrayNode()), number);
  }

  @TestFactory
  Stream<DynamicTest> otherFormsAreRead() {
    return each(
        "read",
        vector -> {
          Arguments arguments = decode(codec(vector), input(vector));
          if (vector.has("values")) {
            Object[] want = values(vector.get("types"), vector.get("values"));
            if (want.length == 1 && want[0] instanceof VectorTypes.All all) {
              sameZero(all, (VectorTypes.All) arguments.get(0));
            } else {
              assertSame(want, arguments);
            }
          }
        });
  }

  /** Records compare their arrays by identity. */
  private static void sameZero(VectorTypes.All want, VectorTypes.All got) {
    assertArrayEquals(want.e(), got.e());
    assertEquals(
        want,
        new VectorTypes.All(
            got.a(), got.b(), got.c(), got.d(), want.e(), got.f(), got.g(), got.h(), got.i(),
            got.j()));
  }

  private static String refused(Codec<Arguments> codec, JsonNode vector) {
    StatusException refused =
        assertThrows(StatusException.class, () -> decode(codec, input(vector)));
    assertEquals(vector.get("code").asText(), refused.code().name());
    String message = refused.status().message();
    String about =
        vector.has("parameter")
            ? "parameter " + vector.get("parameter").asInt() + " of /vectors/method"
            : "/vectors/method";
    assertTrue(message.contains(about), message);
    assertTrue(message.length() <= 200, message);
    return message;
  }

  @TestFactory
  Stream<DynamicTest> badRequestsAreRefused() {
    return each("refused", vector -> refused(codec(vector), vector));
  }

  @TestFactory
  Stream<DynamicTest> strictServersRefuseUnknownFields() {
    return each(
        "strict",
        vector -> {
          decode(codec(vector), input(vector));
          String message = refused(codec(vector).strict(), vector);
          String field = JSON.writeValueAsString(vector.get("field").asText());
          assertTrue(message.contains(field), message);
        });
  }

  @Test
  void wholeNumbersOfAnyTypeAreWrittenWhole() {
    assertEquals(BigInteger.TWO.pow(63), Whole.boxed(false, Long.MIN_VALUE));
    assertEquals(Long.MIN_VALUE, Whole.boxed(true, Long.MIN_VALUE));
  }
}
