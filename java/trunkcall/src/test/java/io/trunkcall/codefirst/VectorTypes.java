package io.trunkcall.codefirst;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The types of code-first.json as Java's: a field is of the type that is described for it. */
@SuppressWarnings({"unused", "NullAway", "ArrayRecordComponent"})
final class VectorTypes {
  enum Colour {
    RED,
    GREEN
  }

  record Point(int x, int y) {}

  record Empty() {}

  record Place(String name, @Nullable Point at, List<String> tags) {}

  record Pair(Point pair) {}

  record All(
      boolean a,
      byte b,
      double c,
      String d,
      byte[] e,
      Instant f,
      Duration g,
      Map<String, String> h,
      Point i,
      Colour j) {}

  @SeveralResults
  record Two(long first, long second) {}

  @SeveralResults
  record Four(String first, int second, int third, double fourth) {}

  private static final String POINT =
      "{\"record\":[{\"name\":\"x\",\"type\":\"int32\"},{\"name\":\"y\",\"type\":\"int32\"}]}";
  private static final String COLOUR = "{\"enumeration\":[\"RED\",\"GREEN\"]}";

  private static final Map<String, String> FIELDS =
      Map.ofEntries(
          Map.entry("{\"optional\":\"int32\"}", "optionalInt32"),
          Map.entry("{\"list\":\"int8\"}", "listOfInt8"),
          Map.entry("{\"list\":\"int32\"}", "listOfInt32"),
          Map.entry("{\"list\":\"boolean\"}", "listOfBoolean"),
          Map.entry("{\"list\":{\"list\":\"text\"}}", "listOfLists"),
          Map.entry("{\"list\":" + POINT + "}", "listOfPoints"),
          Map.entry("{\"map\":{\"key\":\"text\",\"value\":\"int32\"}}", "mapOfInt32"),
          Map.entry("{\"map\":{\"key\":\"text\",\"value\":\"int8\"}}", "mapOfInt8"),
          Map.entry("{\"map\":{\"key\":\"int64\",\"value\":\"text\"}}", "mapByInt64"),
          Map.entry("{\"map\":{\"key\":\"uint8\",\"value\":\"int8\"}}", "mapByUint8"),
          Map.entry("{\"map\":{\"key\":" + COLOUR + ",\"value\":\"int8\"}}", "mapByColour"),
          Map.entry("{\"map\":{\"key\":\"text\",\"value\":" + POINT + "}}", "mapOfPoints"),
          Map.entry(COLOUR, "colour"),
          Map.entry(POINT, "point"),
          Map.entry("{\"record\":[]}", "empty"),
          Map.entry("{\"record\":[{\"name\":\"pair\",\"type\":" + POINT + "}]}", "pair"),
          Map.entry(
              "{\"record\":[{\"name\":\"name\",\"type\":\"text\"},{\"name\":\"at\",\"type\":{\"optional\":"
                  + POINT
                  + "}},{\"name\":\"tags\",\"type\":{\"list\":\"text\"}}]}",
              "place"));

  boolean booleans;
  byte int8;
  short int16;
  int int32;
  long int64;
  @Unsigned short uint8;
  @Unsigned int uint16;
  @Unsigned long uint32;
  BigInteger uint64;
  float float32;
  double float64;
  String text;
  byte[] bytes;
  Instant time;
  Duration duration;
  Object any;
  Integer optionalInt32;
  List<Byte> listOfInt8;
  List<Integer> listOfInt32;
  List<Boolean> listOfBoolean;
  List<List<String>> listOfLists;
  List<Point> listOfPoints;
  Map<String, Integer> mapOfInt32;
  Map<String, Byte> mapOfInt8;
  Map<Long, String> mapByInt64;
  Map<@Unsigned Short, Byte> mapByUint8;
  Map<Colour, Byte> mapByColour;
  Map<String, Point> mapOfPoints;
  Colour colour;
  Point point;
  Empty empty;
  Pair pair;
  Place place;
  All all;
  Two two;
  Four four;

  private VectorTypes() {}

  /** The Java type for a type of the vectors. */
  static Declared declared(JsonNode type) {
    if (type.isTextual()) {
      return field(type.asText().equals("boolean") ? "booleans" : type.asText());
    }
    boolean isAll = type.has("record") && type.get("record").size() == 10;
    String name = isAll ? "all" : FIELDS.get(type.toString());
    if (name == null) {
      throw new AssertionError("no type of Java for " + type);
    }
    return field(name);
  }

  /** What a method with such results returns. */
  static Declared results(JsonNode types) {
    return switch (types.size()) {
      case 0 -> Declared.result(NOTHING);
      case 1 -> declared(types.get(0));
      case 2 -> field("two");
      default -> field("four");
    };
  }

  private static final java.lang.reflect.Method NOTHING = nothing();

  private static java.lang.reflect.Method nothing() {
    try {
      return Runnable.class.getMethod("run");
    } catch (NoSuchMethodException e) {
      throw new AssertionError(e);
    }
  }

  private static Declared field(String name) {
    try {
      Field field = VectorTypes.class.getDeclaredField(name);
      return new Declared(field.getAnnotatedType(), field, false);
    } catch (NoSuchFieldException e) {
      throw new AssertionError("no type of Java for " + name, e);
    }
  }

  /** A value of the vectors as one of Java's type for it. */
  static @Nullable Object value(JsonNode type, JsonNode value) {
    if (type.isTextual()) {
      return leaf(type.asText(), value);
    }
    String kind = type.fieldNames().next();
    JsonNode inner = type.get(kind);
    return switch (kind) {
      case "optional" -> value.isNull() ? null : value(inner, value);
      case "list" -> {
        List<@Nullable Object> list = new ArrayList<>();
        value.forEach(element -> list.add(value(inner, element)));
        yield list;
      }
      case "map" -> {
        Map<@Nullable Object, @Nullable Object> map = new LinkedHashMap<>();
        value.forEach(
            pair ->
                map.put(
                    value(inner.get("key"), pair.get(0)), value(inner.get("value"), pair.get(1))));
        yield map;
      }
      case "enumeration" -> Colour.valueOf(value.asText());
      default -> record(inner, value);
    };
  }

  @SuppressWarnings("unchecked")
  private static Object record(JsonNode fields, JsonNode value) {
    List<@Nullable Object> values = new ArrayList<>();
    for (JsonNode field : fields) {
      values.add(value(field.get("type"), value.get(field.get("name").asText())));
    }
    if (fields.isEmpty()) {
      return new Empty();
    }
    return switch (fields.get(0).get("name").asText()) {
      case "x" -> new Point((Integer) values.get(0), (Integer) values.get(1));
      case "pair" -> new Pair((Point) values.get(0));
      case "name" ->
          new Place((String) values.get(0), (Point) values.get(1), (List<String>) values.get(2));
      default ->
          new All(
              (Boolean) values.get(0),
              (Byte) values.get(1),
              (Double) values.get(2),
              (String) values.get(3),
              (byte[]) values.get(4),
              (Instant) values.get(5),
              (Duration) values.get(6),
              (Map<String, String>) values.get(7),
              (Point) values.get(8),
              (Colour) values.get(9));
    };
  }

  private static @Nullable Object leaf(String kind, JsonNode value) {
    String text = value.asText();
    return switch (kind) {
      case "boolean" -> value.asBoolean();
      case "int8" -> Byte.valueOf(text);
      case "int16", "uint8" -> Short.valueOf(text);
      case "int32", "uint16" -> Integer.valueOf(text);
      case "int64", "uint32" -> Long.valueOf(text);
      case "uint64" -> new BigInteger(text);
      case "float32" -> Float.valueOf(text);
      case "float64" -> Double.valueOf(text);
      case "text" -> text;
      case "bytes" -> HexFormat.of().parseHex(text);
      case "time" -> Instant.parse(text);
      case "duration" -> Duration.ofNanos(Long.parseLong(text));
      default -> value(value.get("type"), value.get("value"));
    };
  }
}
