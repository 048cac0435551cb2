package io.trunkcall.codefirst;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Method handles of the types that were read, made once. */
final class Handles {
  private static final MethodType GETTER = MethodType.methodType(Object.class, Object.class);
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  private Handles() {}

  private interface Unreflect {
    MethodHandle run() throws IllegalAccessException;
  }

  private static MethodHandle of(AccessibleObject member, Unreflect unreflect) {
    try {
      // The classes that public members stand in need not be public.
      member.setAccessible(true);
      return unreflect.run();
    } catch (IllegalAccessException | RuntimeException e) {
      throw new IllegalArgumentException(
          member + " cannot be used: its module has to open its package", e);
    }
  }

  /** {@code (Object self) -> Object}. */
  static MethodHandle getter(Method accessor) {
    return of(accessor, () -> LOOKUP.unreflect(accessor)).asType(GETTER);
  }

  static MethodHandle getter(Field field) {
    return of(field, () -> LOOKUP.unreflectGetter(field)).asType(GETTER);
  }

  /** {@code (Object self, Object value) -> void}. */
  static MethodHandle setter(Method setter) {
    return of(setter, () -> LOOKUP.unreflect(setter)).asType(SETTER);
  }

  static MethodHandle setter(Field field) {
    return of(field, () -> LOOKUP.unreflectSetter(field)).asType(SETTER);
  }

  private static final MethodType SETTER =
      MethodType.methodType(void.class, Object.class, Object.class);

  /** {@code (Object[] arguments) -> Object}. */
  static MethodHandle constructor(Constructor<?> constructor) {
    return spread(of(constructor, () -> LOOKUP.unreflectConstructor(constructor)));
  }

  /** The same of a method of one object. */
  static MethodHandle method(Method method, Object self) {
    return spread(of(method, () -> LOOKUP.unreflect(method)).bindTo(self));
  }

  private static MethodHandle spread(MethodHandle handle) {
    MethodHandle fixed = handle.asFixedArity();
    return fixed
        .asSpreader(Object[].class, fixed.type().parameterCount())
        .asType(MethodType.methodType(Object.class, Object[].class));
  }

  /** What to throw for a fault that no signature announces. */
  static RuntimeException unexpected(Throwable e) {
    if (e instanceof Error error) {
      throw error;
    }
    return e instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(e);
  }
}
