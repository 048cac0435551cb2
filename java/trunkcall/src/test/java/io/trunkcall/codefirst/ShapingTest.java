package io.trunkcall.codefirst;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.StringValue;
import io.trunkcall.Codec;
import io.trunkcall.Output;
import java.lang.reflect.Method;
import java.time.Instant;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which types of Java can be carried, and as what. */
@SuppressWarnings({"unused", "ClassCanBeStatic"})
class ShapingTest {
  enum Colour {
    RED,
    @PublicName("verde")
    GREEN
  }

  enum Nothing {}

  record Node(int value, @Nullable Node next, List<Node> children) {}

  record Endless(Endless inside) {}

  record Through(Back back) {}

  record Back(Through through) {}

  record Page<T>(List<T> items, @Nullable T first) {}

  record Renamed(@PublicName("URL") String getURL, int MAX_SIZE) {}

  record Twice(int getUrl, int getURL) {}

  record Picky(int above) {
    Picky {
      if (above < 1) {
        throw new IllegalArgumentException("the secret is " + above);
      }
    }
  }

  /** Has fields of each kind that counts, or not. */
  public static class Bean {
    public int open = 5;
    public final int constant = 1;
    public static int shared;
    public transient int passing;
    private String name = "none";
    private boolean ready;
    private int hidden = 9;

    public String getName() {
      return name;
    }

    public void setName(String name) {
      this.name = name;
    }

    public boolean isReady() {
      return ready;
    }

    public void setReady(boolean ready) {
      this.ready = ready;
    }
  }

  public static class Extended extends Bean {
    public @Nullable Instant since;
  }

  public static class Sealed {
    private int hidden;
  }

  public static class Unmade {
    public int open;

    public Unmade(int open) {
      this.open = open;
    }
  }

  class Inner {
    public int open;
  }

  abstract static class Abstract {}

  /** A parameter of each type that is looked at. */
  interface Types {
    void strings(String... rest);

    void numbers(int[] a, double[] b, Integer[] c);

    void node(Node node);

    void page(Page<String> page);

    void optional(Optional<String> text);

    void nullable(@Nullable String text);

    void boxed(Integer number);

    void boxedList(List<Integer> numbers);

    void nullableList(List<@Nullable Integer> numbers);

    void collection(Collection<String> texts);

    void bean(Bean bean);

    void extended(Extended extended);

    void renamed(Renamed renamed);

    void colours(Map<Colour, Colour> colours);

    void picky(Picky picky);

    void any(Object any);

    void endless(Endless bad);

    void through(Through bad);

    void character(char bad);

    void date(Date bad);

    void set(Set<String> bad);

    @SuppressWarnings("rawtypes")
    void raw(List bad);

    <T> void variable(T bad);

    void wildcard(List<?> bad);

    void keys(Map<Instant, String> bad);

    void twice(Twice bad);

    void sealed(Sealed bad);

    void unmade(Unmade bad);

    void inner(Inner bad);

    void abstraction(Abstract bad);

    void runnable(Runnable bad);

    void thread(Thread bad);

    void stream(Stream<String> bad);

    void message(StringValue bad);

    void exception(IllegalStateException bad);

    void several(VectorTypes.Two bad);

    void optionals(Optional<Optional<String>> bad);

    void unsigned(@Unsigned byte bad);

    void nothing(Nothing bad);
  }

  private static Signature signature(String name) {
    for (Method method : Types.class.getDeclaredMethods()) {
      if (method.getName().equals(name)) {
        return Signature.of("/types/" + name, Declared.parameters(method), Declared.result(method));
      }
    }
    throw new AssertionError(name);
  }

  private static Codec<Arguments> json(String name) {
    return signature(name).method(ValueCodec.Form.JSON).request();
  }

  private static String write(String name, Object... values) {
    Output out = new Output();
    Signature signature = signature(name);
    signature.method(ValueCodec.Form.JSON).request().encode(new Arguments(signature, values), out);
    return new String(out.array(), 0, out.length(), java.nio.charset.StandardCharsets.UTF_8);
  }

  private static Object read(String name, String text) {
    byte[] data = text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    return json(name).decode(data, 0, data.length).get(0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "strings     | [[\"a\",\"b\"]]",
        "node        | [{\"value\":1,\"next\":{\"value\":2,\"next\":null,\"children\":[]},\"children\":[]}]",
        "page        | [{\"items\":[\"a\"],\"first\":null}]",
        "optional    | [null]",
        "optional    | [\"a\"]",
        "nullable    | [null]",
        "boxed       | [null]",
        "nullableList | [[1,null]]",
        "collection  | [[\"a\"]]",
        "bean        | [{\"open\":1,\"name\":\"n\",\"ready\":true}]",
        "extended    | [{\"open\":1,\"name\":\"n\",\"ready\":true,\"since\":null}]",
        "renamed     | [{\"URL\":\"x\",\"maxSize\":2}]",
        "colours     | [{\"RED\":\"verde\"}]",
        "picky       | [{\"above\":1}]",
      })
  void whatIsReadIsWrittenAgain(String name, String text) {
    assertEquals(text, write(name, read(name, text)));
  }

  @Test
  void arraysOfNumbersAreLists() {
    byte[] data = "[[1,2],[0.5],[null,3]]".getBytes(java.nio.charset.StandardCharsets.UTF_8);
    Arguments arguments = json("numbers").decode(data, 0, data.length);
    assertArrayEquals(new int[] {1, 2}, (int[]) arguments.get(0));
    assertArrayEquals(new double[] {0.5}, (double[]) arguments.get(1));
    assertArrayEquals(new Integer[] {null, 3}, (Integer[]) arguments.get(2));
  }

  @Test
  void aFieldThatIsMissingKeepsWhatTheClassGivesIt() {
    Bean bean = (Bean) read("bean", "[{\"hidden\":1,\"constant\":2}]");
    assertEquals(5, bean.open);
    assertEquals("none", bean.getName());
    assertEquals(9, bean.hidden);
  }

  @Test
  void anyValueIsWrittenByItsOwnType() {
    Map<Object, Object> map = new HashMap<>();
    map.put(1, new VectorTypes.Point(2, 3));
    assertEquals(
        "[[\"a\",null,{\"1\":{\"x\":2,\"y\":3}},[1.5],\"verde\",\"AQ==\"]]",
        write(
            "any",
            java.util.Arrays.asList(
                "a", null, map, new float[] {1.5f}, Colour.GREEN, new byte[] {1})));
    assertNull(read("any", "[null]"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "boxedList | [[1,null]] | parameter 1 of /types/boxedList, at [1]: want a whole number",
        "node | [{\"children\":[{\"value\":\"x\"}]}] | parameter 1 of /types/node, at .children[0].value: want",
        "picky | [{\"above\":0}] | parameter 1 of /types/picky: the values of this record",
        "picky | [{}] | parameter 1 of /types/picky: the values of this record",
        "colours | [{\"BLUE\":\"RED\"}] | parameter 1 of /types/colours, at [key]: this text",
      })
  void badValuesAreToldByTheirPlace(String name, String text, String message) {
    Exception refused = assertThrows(RuntimeException.class, () -> read(name, text));
    assertTrue(refused.getMessage().contains(message), refused.getMessage());
    assertTrue(!refused.getMessage().contains("secret"), refused.getMessage());
  }

  @Test
  void nullIsRefusedWhereTheTypeIsNotOptional() {
    Exception refused =
        assertThrows(RuntimeException.class, () -> write("collection", (Object) null));
    assertTrue(refused.getMessage().contains("want an array, got null"), refused.getMessage());
  }

  @Test
  void valuesThatContainThemselvesEndAtTheLimit() {
    List<Object> list = new java.util.ArrayList<>();
    list.add(list);
    Exception refused = assertThrows(RuntimeException.class, () -> write("any", list));
    assertTrue(refused.getMessage().contains("max_nesting 100"), refused.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "endless",
        "through",
        "character",
        "date",
        "set",
        "raw",
        "variable",
        "wildcard",
        "keys",
        "twice",
        "sealed",
        "unmade",
        "inner",
        "abstraction",
        "runnable",
        "thread",
        "stream",
        "message",
        "exception",
        "several",
        "optionals",
        "unsigned",
        "nothing"
      })
  void typesThatCannotBeCarriedAreRefused(String name) {
    Exception refused = assertThrows(IllegalArgumentException.class, () -> signature(name));
    assertTrue(refused.getMessage().startsWith("parameter 1: "), refused.getMessage());
  }

  @Test
  void recordsAreMessagesInBothCodecs() {
    Codec<Node> codec = ValueCodecs.messagePack(Node.class);
    for (int number : new int[] {2, 3}) {
      Output out = new Output();
      Node node = new Node(1, null, List.of());
      Codec<Node> in = codec.in(number);
      in.encode(node, out);
      assertEquals(node, in.decode(out.array(), 0, out.length()));
      assertThrows(IllegalArgumentException.class, () -> in.decode(new byte[] {'7'}, 0, 1));
    }
    assertNull(codec.in(1));
  }
}
