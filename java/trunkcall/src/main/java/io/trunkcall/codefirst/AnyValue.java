package io.trunkcall.codefirst;

import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Writes values by their own types (code-first.md 3.7). */
final class AnyValue {
  private static final MapShape MAP = new MapShape(new KeyShape(), Shapes.ANY);
  private static final ListShape LIST = new ListShape(Shapes.ANY);

  /** The shapes of classes whose values were written, or why they have none. */
  private static final ClassValue<Object> SHAPES =
      new ClassValue<>() {
        @Override
        protected Object computeValue(Class<?> type) {
          try {
            return Shaping.shapeOf(type);
          } catch (IllegalArgumentException e) {
            return e.getMessage() == null ? e.toString() : e.getMessage();
          }
        }
      };

  private AnyValue() {}

  static void write(ValueWriter w, Object value) {
    if (value instanceof String text) {
      w.writeText(text);
    } else if (value instanceof Long number) {
      w.writeInteger(number);
    } else if (value instanceof Collection<?> list) {
      LIST.writeValue(w, list);
    } else if (value instanceof Map<?, ?> map) {
      MAP.writeValue(w, map);
    } else if (value instanceof Optional<?> optional) {
      Shapes.ANY.write(w, optional.orElse(null));
    } else {
      shapeOf(value).writeValue(w, value);
    }
  }

  private static Shape shapeOf(Object value) {
    Class<?> type =
        value instanceof Enum<?> constant ? constant.getDeclaringClass() : value.getClass();
    if (SHAPES.get(type) instanceof Shape shape) {
      return shape;
    }
    throw ValueException.hidden(SHAPES.get(type).toString());
  }

  /** Keys of maps of which nothing is said. */
  private static final class KeyShape extends Shape {
    @Override
    void writeValue(ValueWriter w, Object value) {
      Shape shape = shapeOf(value);
      if (!shape.isKey()) {
        throw ValueException.hidden("keys of type " + value.getClass().getTypeName());
      }
      shape.writeValue(w, value);
    }

    @Override
    @Nullable Object read(ValueReader r) {
      return r.readAnyKey();
    }

    @Override
    Object zero() {
      return "";
    }

    @Override
    String wanted() {
      return "a key";
    }
  }
}
