package io.trunkcall.codefirst;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How the results of a method are one value of Java: none, one, or a record of several. */
abstract class ResultForm {
  static final ResultForm NONE =
      new ResultForm() {
        @Override
        @Nullable Object[] apart(@Nullable Object value) {
          return new Object[0];
        }

        @Override
        @Nullable Object together(@Nullable Object[] results) {
          return null;
        }
      };

  /** The results that a value is. */
  abstract @Nullable Object[] apart(@Nullable Object value);

  /** The value that results are. */
  abstract @Nullable Object together(@Nullable Object[] results);

  /** The types of the results. */
  Places places() {
    return new Places(List.of(), List.of());
  }

  /** Throws IllegalArgumentException for a type whose values cannot be carried. */
  static ResultForm of(Declared result) {
    Class<?> type = result.raw();
    if (type == void.class || type == Void.class) {
      return NONE;
    }
    if (!type.isAnnotationPresent(SeveralResults.class)) {
      return new One(new Places(List.of(result.shape()), List.of(type)));
    }
    if (!type.isRecord() || type.getRecordComponents().length < 2) {
      throw new IllegalArgumentException(
          type.getTypeName() + " has @SeveralResults, but is no record of two or more");
    }
    return new Several(Records.ofResults(Of.plain(result.type()), type), type);
  }

  private static final class One extends ResultForm {
    private final Places places;

    One(Places places) {
      this.places = places;
    }

    @Override
    Places places() {
      return places;
    }

    @Override
    @Nullable Object[] apart(@Nullable Object value) {
      return new Object[] {value};
    }

    @Override
    @Nullable Object together(@Nullable Object[] results) {
      return results[0];
    }
  }

  private static final class Several extends ResultForm {
    private final RecordShape.OfRecord shape;
    private final Places places;

    Several(RecordShape.OfRecord shape, Class<?> type) {
      this.shape = shape;
      List<Shape> shapes = new ArrayList<>();
      List<Class<?>> types = new ArrayList<>();
      for (int i = 0; i < shape.fields.size(); i++) {
        shapes.add(shape.fields.shape(i));
        types.add(type.getRecordComponents()[i].getType());
      }
      places = new Places(shapes, types);
    }

    @Override
    Places places() {
      return places;
    }

    @Override
    @Nullable Object[] apart(@Nullable Object value) {
      if (value == null) {
        throw ValueException.unwanted(places.size() + " results", "null");
      }
      @Nullable Object[] results = new Object[places.size()];
      for (int i = 0; i < results.length; i++) {
        results[i] = shape.get(i, value);
      }
      return results;
    }

    @Override
    Object together(@Nullable Object[] results) {
      return shape.make(results.clone());
    }
  }
}
