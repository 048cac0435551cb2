package io.trunkcall.codefirst;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedArrayType;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the shapes of a type and of its parts. A recursive type is met again while its shape is
 * being made.
 */
final class Shaping {
  /** How deep a type may nest: as deep as its values may. */
  private static final int DEEPEST = ValueException.MAX_NESTING;

  private static final Map<Class<?>, Class<?>> UNBOXED =
      Map.of(
          Boolean.class, boolean.class,
          Byte.class, byte.class,
          Short.class, short.class,
          Integer.class, int.class,
          Long.class, long.class,
          Float.class, float.class,
          Double.class, double.class);

  private final Map<Key, LaterShape> begun = new HashMap<>();

  /** The records that one of the type under way contains directly, from the outermost on. */
  private final Deque<Set<Key>> direct = new ArrayDeque<>(List.of(new HashSet<>()));

  private int depth;

  /** A class, and the types in the place of its type variables. */
  private record Key(Class<?> raw, List<Of> arguments) {}

  /** The shape of a value's own class. */
  static Shape shapeOf(Class<?> type) {
    Shape known = known(type);
    if (known != null) {
      return known;
    }
    if (type.isArray()) {
      Class<?> component = type.getComponentType();
      Shape element = shapeOf(component);
      boolean boxed = UNBOXED.containsKey(component);
      return new ListShape.OfArray(boxed ? OptionalShape.nullable(element) : element, type);
    }
    if (type.getTypeParameters().length > 0) {
      throw new IllegalArgumentException(type.getTypeName() + " does not say of what");
    }
    return new Shaping().recordOnce(type, Map.of());
  }

  /** The shape of a class that contains no others. */
  private static @Nullable Shape known(Class<?> type) {
    Shape leaf = Shapes.BY_CLASS.get(unboxed(type));
    return leaf == null && type.isEnum() ? new EnumShape(type) : leaf;
  }

  /**
   * The shape of a type. Its declaration may say that it is nullable; so does a boxed type, where a
   * primitive one could stand.
   */
  Shape shape(Of of, AnnotatedElement declared, boolean boxedIsOptional) {
    if (++depth > DEEPEST) {
      throw new IllegalArgumentException("the type nests deeper than " + DEEPEST);
    }
    Of bound = bound(of);
    boolean boxed = boxedIsOptional && UNBOXED.containsKey(bound.type().getType());
    boolean nullable = isNullable(declared) || isNullable(of.type()) || isNullable(bound.type());
    if (boxed || nullable) {
      direct.push(new HashSet<>());
      Shape shape = OptionalShape.nullable(present(bound));
      direct.pop();
      depth--;
      return shape;
    }
    Shape shape = present(bound);
    depth--;
    return shape;
  }

  /** What a type variable stands for. */
  private static Of bound(Of of) {
    Of bound = of;
    while (bound.type().getType() instanceof TypeVariable<?> variable) {
      Of known = bound.variables().get(variable);
      if (known == null) {
        throw new IllegalArgumentException(variable + " can be any type");
      }
      bound = known;
    }
    return bound;
  }

  private static boolean isNullable(AnnotatedElement element) {
    for (Annotation each : element.getAnnotations()) {
      if (each.annotationType().getSimpleName().equals("Nullable")) {
        return true;
      }
    }
    return false;
  }

  /** The shape of a type without its null. */
  private Shape present(Of of) {
    Type type = of.type().getType();
    if (of.type().isAnnotationPresent(Unsigned.class)) {
      return unsigned(type);
    }
    if (of.type() instanceof AnnotatedArrayType array && type != byte[].class) {
      Of element = of.part(array.getAnnotatedGenericComponentType());
      return new ListShape.OfArray(inside(element, true), raw(of));
    }
    Class<?> raw = raw(of);
    Shape known = known(raw);
    if (known != null) {
      return known;
    }
    if (raw == Optional.class) {
      Shape inside = inside(argument(of, 0), false);
      if (inside.takesNull()) {
        throw new IllegalArgumentException(type.getTypeName() + " is of what may be null itself");
      }
      return OptionalShape.wrapped(inside);
    }
    if (raw == List.class || raw == Collection.class) {
      return new ListShape(inside(argument(of, 0), false));
    }
    if (raw == Map.class) {
      return map(of);
    }
    return recordOnce(raw, variables(of, raw));
  }

  private static Shape unsigned(Type type) {
    Shape shape = type instanceof Class<?> of ? Shapes.UNSIGNED.get(unboxed(of)) : null;
    if (shape == null) {
      throw new IllegalArgumentException(
          "@Unsigned stands at "
              + type.getTypeName()
              + ", which is no short, int, long or BigInteger");
    }
    return shape;
  }

  /** A class, of boxed ones the primitive one. */
  static Class<?> unboxed(Class<?> type) {
    return UNBOXED.getOrDefault(type, type);
  }

  /** The class of a declared type. */
  static Class<?> raw(AnnotatedType type) {
    return raw(Of.plain(type));
  }

  private static Class<?> raw(Of of) {
    return raw(of.type().getType(), of);
  }

  private static Class<?> raw(Type type, Of of) {
    if (type instanceof Class<?> plain) {
      return plain;
    }
    if (type instanceof ParameterizedType parameterized) {
      return (Class<?>) parameterized.getRawType();
    }
    if (of.type() instanceof AnnotatedArrayType array) {
      Of element = bound(of.part(array.getAnnotatedGenericComponentType()));
      return raw(element).arrayType();
    }
    throw new IllegalArgumentException(type.getTypeName() + " can be any type");
  }

  /** An argument of a generic type. */
  private static Of argument(Of of, int index) {
    if (of.type() instanceof AnnotatedParameterizedType generic) {
      return of.part(generic.getAnnotatedActualTypeArguments()[index]);
    }
    throw new IllegalArgumentException(of.type().getType().getTypeName() + " does not say of what");
  }

  /** The shape of a part that a value need not have: here a type may contain itself. */
  private Shape inside(Of part, boolean boxedIsOptional) {
    direct.push(new HashSet<>());
    Shape shape = shape(part, part.type(), boxedIsOptional);
    direct.pop();
    return shape;
  }

  private Shape map(Of of) {
    Shape key = inside(argument(of, 0), false);
    if (!key.isKey()) {
      throw new IllegalArgumentException(
          "keys of "
              + of.type().getType().getTypeName()
              + " are neither text nor whole numbers nor constants");
    }
    return new MapShape(key, inside(argument(of, 1), false));
  }

  private Shape recordOnce(Class<?> raw, Map<TypeVariable<?>, Of> variables) {
    Key key = new Key(raw, Stream.of(raw.getTypeParameters()).map(variables::get).toList());
    Set<Key> containing = direct.getFirst();
    LaterShape known = begun.get(key);
    if (known != null) {
      if (containing.contains(key)) {
        throw new IllegalArgumentException(
            raw.getTypeName() + " contains itself: want an optional, a list or a map in between");
      }
      return known.found();
    }
    LaterShape later = new LaterShape();
    begun.put(key, later);
    containing.add(key);
    Shape shape = Records.shape(this, raw, variables);
    containing.remove(key);
    later.become(shape);
    return shape;
  }

  /** What the type variables of a class stand for. */
  static Map<TypeVariable<?>, Of> variables(Of of, Class<?> raw) {
    TypeVariable<?>[] parameters = raw.getTypeParameters();
    Map<TypeVariable<?>, Of> variables = new HashMap<>();
    for (int i = 0; i < parameters.length; i++) {
      variables.put(parameters[i], bound(argument(of, i)));
    }
    return variables;
  }
}
