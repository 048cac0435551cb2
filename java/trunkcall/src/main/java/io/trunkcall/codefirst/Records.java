package io.trunkcall.codefirst;

import com.google.protobuf.MessageLite;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.TypeVariable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Finds the fields of records, and of classes that have some that can be set. */
final class Records {
  private final Shaping shaping;
  private final Class<?> type;
  private final List<String> names = new ArrayList<>();
  private final List<Shape> shapes = new ArrayList<>();
  private final List<MethodHandle> getters = new ArrayList<>();
  private final List<MethodHandle> setters = new ArrayList<>();

  private Records(Shaping shaping, Class<?> type) {
    this.shaping = shaping;
    this.type = type;
  }

  static Shape shape(Shaping shaping, Class<?> type, Map<TypeVariable<?>, Of> variables) {
    refuse(type);
    Records records = new Records(shaping, type);
    return type.isRecord() ? records.ofRecord(variables) : records.ofClass(variables);
  }

  /** The record that stands for several results: not a value itself. */
  static RecordShape.OfRecord ofResults(Of of, Class<?> type) {
    return new Records(new Shaping(), type).ofRecord(Shaping.variables(of, type));
  }

  private static void refuse(Class<?> type) {
    String name = type.getTypeName();
    if (MessageLite.class.isAssignableFrom(type)) {
      throw new IllegalArgumentException(name + " is a Protobuf message");
    }
    if (Throwable.class.isAssignableFrom(type)) {
      throw new IllegalArgumentException(name + " is thrown, not carried");
    }
    if (type.isAnnotationPresent(SeveralResults.class)) {
      throw new IllegalArgumentException(
          name + " stands for the several results of a method, and is no value");
    }
    if (type.isPrimitive() || name.startsWith("java.") || name.startsWith("javax.")) {
      throw new IllegalArgumentException("values of type " + name + " cannot be carried");
    }
    if (Modifier.isAbstract(type.getModifiers())) {
      throw new IllegalArgumentException("values of " + name + " can be of any type");
    }
    if (type.isMemberClass() && !Modifier.isStatic(type.getModifiers())) {
      throw new IllegalArgumentException(name + " belongs to another object: make it static");
    }
  }

  private RecordShape.OfRecord ofRecord(Map<TypeVariable<?>, Of> variables) {
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] types = new Class<?>[components.length];
    for (int i = 0; i < components.length; i++) {
      RecordComponent component = components[i];
      types[i] = component.getType();
      add(component.getName(), component, component.getAnnotatedType(), variables);
      getters.add(Handles.getter(component.getAccessor()));
    }
    try {
      Constructor<?> constructor = type.getDeclaredConstructor(types);
      return new RecordShape.OfRecord(fields(), getters, Handles.constructor(constructor));
    } catch (NoSuchMethodException e) {
      throw new IllegalArgumentException(type.getTypeName() + " has no canonical constructor", e);
    }
  }

  private RecordFields fields() {
    return new RecordFields(names, shapes);
  }

  private void add(
      String name,
      AnnotatedElement declared,
      AnnotatedType fieldType,
      Map<TypeVariable<?>, Of> variables) {
    PublicName given = declared.getAnnotation(PublicName.class);
    String publicName = given == null ? PublicNames.of(name) : given.value();
    String of = "field " + name + " of " + type.getTypeName();
    if (publicName.isEmpty() || names.contains(publicName) || Utf8.length(publicName) < 0) {
      throw new IllegalArgumentException(
          of + ": its name \"" + publicName + "\" is taken, empty or no text");
    }
    try {
      shapes.add(shaping.shape(new Of(fieldType, variables), declared, true));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(of + ": " + e.getMessage(), e);
    }
    names.add(publicName);
  }

  private Shape ofClass(Map<TypeVariable<?>, Of> variables) {
    Constructor<?> constructor;
    try {
      constructor = type.getDeclaredConstructor();
    } catch (NoSuchMethodException e) {
      throw new IllegalArgumentException(
          type.getTypeName() + " has no constructor without parameters; a record needs none", e);
    }
    boolean any = addFields(type, variables);
    if (any && names.isEmpty()) {
      throw new IllegalArgumentException(
          type.getTypeName() + " has no field that is public, or has a public getter and setter");
    }
    return new RecordShape.OfClass(fields(), getters, setters, Handles.constructor(constructor));
  }

  /** Adds the fields of a class, those of its superclasses first. Whether it has any at all. */
  private boolean addFields(Class<?> of, Map<TypeVariable<?>, Of> variables) {
    boolean any = false;
    Class<?> above = of.getSuperclass();
    if (above != null && above != Object.class) {
      Of bound = new Of(of.getAnnotatedSuperclass(), variables);
      any = addFields(above, Shaping.variables(bound, above));
    }
    for (Field field : of.getDeclaredFields()) {
      int modifiers = field.getModifiers();
      if (Modifier.isStatic(modifiers) || Modifier.isTransient(modifiers) || field.isSynthetic()) {
        continue;
      }
      any = true;
      addField(of, field, variables);
    }
    return any;
  }

  private void addField(Class<?> of, Field field, Map<TypeVariable<?>, Of> variables) {
    String name = field.getName();
    String property = Character.toUpperCase(name.charAt(0)) + name.substring(1);
    Method getter = accessor(of, "get" + property, field.getType());
    if (getter == null && field.getType() == boolean.class) {
      getter = accessor(of, "is" + property, field.getType());
    }
    Method setter = accessor(of, "set" + property, void.class, field.getType());
    int modifiers = field.getModifiers();
    if (getter != null && setter != null) {
      add(name, field, field.getAnnotatedType(), variables);
      getters.add(Handles.getter(getter));
      setters.add(Handles.setter(setter));
    } else if (Modifier.isPublic(modifiers) && !Modifier.isFinal(modifiers)) {
      add(name, field, field.getAnnotatedType(), variables);
      getters.add(Handles.getter(field));
      setters.add(Handles.setter(field));
    }
  }

  private static @Nullable Method accessor(
      Class<?> of, String name, Class<?> result, Class<?>... parameters) {
    try {
      Method found = of.getMethod(name, parameters);
      return found.getReturnType() == result && !Modifier.isStatic(found.getModifiers())
          ? found
          : null;
    } catch (NoSuchMethodException e) {
      return null;
    }
  }
}
