package io.trunkcall.codefirst;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Arguments or results: values of declared types. */
abstract class ValueList {
  final @Nullable Object[] values;
  private final @Nullable Places places;

  ValueList(@Nullable Object[] values, @Nullable Places places) {
    this.values = values;
    this.places = places;
  }

  /** How many there are. */
  public int size() {
    return values.length;
  }

  /** The value at an index, from 0. */
  public @Nullable Object get(int index) {
    return values[index];
  }

  /** A copy of all of them, in order. */
  public List<@Nullable Object> values() {
    return Collections.unmodifiableList(Arrays.asList(values.clone()));
  }

  /**
   * Replaces the value at an index, from 0.
   *
   * @throws IllegalArgumentException if it is not of the declared type
   */
  public void set(int index, @Nullable Object value) {
    if (places != null && value != null && !places.type(index).isInstance(value)) {
      throw new IllegalArgumentException(
          value.getClass().getTypeName() + " is no " + places.type(index).getTypeName());
    }
    values[index] = value;
  }

  @Override
  public String toString() {
    return size() + (size() == 1 ? " value" : " values"); // they may be secret
  }
}
