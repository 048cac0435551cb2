package io.trunkcall.codefirst;

import java.lang.invoke.MethodType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The declared types of arguments or results, in order. */
final class Places {
  private final Shape[] shapes;
  private final Class<?>[] types; // boxed

  Places(List<Shape> shapes, List<Class<?>> types) {
    this.shapes = shapes.toArray(Shape[]::new);
    this.types =
        types.stream()
            .map(type -> MethodType.methodType(type).wrap().returnType())
            .toArray(Class<?>[]::new);
  }

  int size() {
    return shapes.length;
  }

  Shape shape(int index) {
    return shapes[index];
  }

  Class<?> type(int index) {
    return types[index];
  }

  /** What a caller's values, which are read as these, do not fit in; null if they may fit. */
  @Nullable String misfit(String what, Places callers) {
    if (callers.size() != size()) {
      return (callers.size() == 1 ? "1 " + what : callers.size() + " " + what + "s")
          + ", but there it is "
          + size();
    }
    for (int i = 0; i < shapes.length; i++) {
      if (!shapes[i].mayBe(callers.shapes[i])) {
        return what
            + " "
            + (i + 1)
            + ": "
            + callers.shapes[i].wanted()
            + ", but there it is "
            + shapes[i].wanted();
      }
    }
    return null;
  }

  /** Whether values that somebody else made are of these types. */
  boolean fit(@Nullable Object[] values) {
    if (values.length != types.length) {
      return false;
    }
    for (int i = 0; i < types.length; i++) {
      Object value = values[i];
      if (value == null ? !shapes[i].takesNull() : !types[i].isInstance(value)) {
        return false;
      }
    }
    return true;
  }
}
