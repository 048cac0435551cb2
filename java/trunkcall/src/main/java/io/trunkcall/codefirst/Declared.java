package io.trunkcall.codefirst;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.List;

/**
 * The type of a parameter or a result.
 *
 * @param element where annotations may stand besides
 * @param isArgument whether it stands within angle brackets, where boxed types are the only ones
 */
record Declared(AnnotatedType type, AnnotatedElement element, boolean isArgument) {
  /** Those of a method, in a list that may be changed. */
  static List<Declared> parameters(Method method) {
    List<Declared> all = new ArrayList<>();
    for (Parameter each : method.getParameters()) {
      all.add(new Declared(each.getAnnotatedType(), each, false));
    }
    return all;
  }

  static Declared result(Method method) {
    return new Declared(method.getAnnotatedReturnType(), method, false);
  }

  /** The result that a future or callback has for its argument. */
  static Declared ofArgument(AnnotatedType of) {
    if (of instanceof AnnotatedParameterizedType generic) {
      AnnotatedType argument = generic.getAnnotatedActualTypeArguments()[0];
      return new Declared(argument, argument, true);
    }
    throw new IllegalArgumentException(
        of.getType().getTypeName() + " does not say what result it brings");
  }

  Class<?> raw() {
    return Shaping.raw(type);
  }

  /** Throws IllegalArgumentException for a type whose values cannot be carried. */
  Shape shape() {
    return new Shaping().shape(Of.plain(type), element, !isArgument);
  }

  /**
   * The type by name, in which the forms of a method agree: of boxed ones the primitive one, which
   * it stands for within angle brackets.
   */
  String words() {
    if (type.getType() == Void.class) {
      return "void";
    }
    return type.getType() instanceof Class<?> raw
        ? Shaping.unboxed(raw).getTypeName()
        : type.getType().getTypeName();
  }
}
