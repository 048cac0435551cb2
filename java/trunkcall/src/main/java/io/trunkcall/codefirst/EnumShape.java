package io.trunkcall.codefirst;

import java.util.HashMap;
import java.util.Map;

/** An enumeration's: constants go by their names, or by those that {@link PublicName} gives. */
final class EnumShape extends Shape {
  private final Map<Object, String> names = new HashMap<>();
  private final Map<String, Object> constants = new HashMap<>();
  private final Object first;

  /** Throws IllegalArgumentException for one without constants, or with two of one name. */
  EnumShape(Class<?> type) {
    Object[] all = type.getEnumConstants();
    if (all == null || all.length == 0) {
      throw new IllegalArgumentException(type.getTypeName() + " has no constants");
    }
    first = all[0];
    for (Object each : all) {
      Enum<?> constant = (Enum<?>) each;
      String name = name(type, constant);
      names.put(constant, name);
      if (name.isEmpty() || constants.put(name, constant) != null) {
        throw new IllegalArgumentException(
            "constant "
                + constant.name()
                + " of "
                + type.getTypeName()
                + ": its name \""
                + name
                + "\" is taken or empty");
      }
    }
  }

  private static String name(Class<?> type, Enum<?> constant) {
    try {
      PublicName given = type.getField(constant.name()).getAnnotation(PublicName.class);
      return given == null ? constant.name() : given.value();
    } catch (NoSuchFieldException e) {
      throw new IllegalArgumentException(type.getTypeName() + " has no field " + constant, e);
    }
  }

  @Override
  void writeValue(ValueWriter w, Object value) {
    String name = names.get(value);
    if (name == null) {
      throw new ClassCastException(value + " is no constant of this enumeration");
    }
    w.writeText(name);
  }

  @Override
  Object read(ValueReader r) {
    Object constant = constants.get(r.readText());
    if (constant == null) {
      throw ValueException.bad("this text is not one of its constants");
    }
    return constant;
  }

  @Override
  Object zero() {
    return first;
  }

  @Override
  String wanted() {
    return "the name of a constant";
  }

  @Override
  boolean isKey() {
    return true;
  }
}
