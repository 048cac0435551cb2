package io.trunkcall.codefirst;

import java.lang.reflect.AnnotatedType;
import java.lang.reflect.TypeVariable;
import java.util.Map;

/** A type as it is declared, and what the type variables in it stand for. */
record Of(AnnotatedType type, Map<TypeVariable<?>, Of> variables) {
  static Of plain(AnnotatedType type) {
    return new Of(type, Map.of());
  }

  /** A part of this type. */
  Of part(AnnotatedType part) {
    return new Of(part, variables);
  }
}
