package io.trunkcall.codefirst;

import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** That of records, and of classes with fields that can be set. */
abstract class RecordShape extends Shape {
  private static final int HEADER = 16; // bytes of memory
  private static final int FIELD = 8;

  final RecordFields fields;
  private final MethodHandle[] getters;

  RecordShape(RecordFields fields, List<MethodHandle> getters) {
    this.fields = fields;
    this.getters = getters.toArray(MethodHandle[]::new);
  }

  @Override
  final void writeValue(ValueWriter w, Object value) {
    w.beginMap(getters.length);
    for (int i = 0; i < getters.length; i++) {
      w.writeName(fields.name(i));
      try {
        fields.shape(i).write(w, get(i, value));
      } catch (ValueException e) {
        throw fields.within(i, e);
      }
    }
    w.endMap();
  }

  final @Nullable Object get(int index, Object value) {
    try {
      return (Object) getters[index].invokeExact(value);
    } catch (Throwable e) {
      throw Handles.unexpected(e);
    }
  }

  /** Bytes of memory, without what its fields refer to. */
  final long bare() {
    return HEADER + (long) FIELD * fields.size();
  }

  /** Where the values of fields go that were read. */
  interface Place {
    void set(int index, @Nullable Object value);
  }

  final void readFields(ValueReader r, Place place) {
    int likely = 0;
    for (int left = r.beginMap(); r.more(left); left--) {
      int index;
      try {
        index = r.readField(fields, likely++);
      } catch (ValueException e) {
        throw e.within("[field]");
      }
      if (index == ValueReader.NO_FIELD) {
        r.unknownField();
        r.skip();
        continue;
      }
      try {
        place.set(index, fields.shape(index).read(r));
      } catch (ValueException e) {
        throw fields.within(index, e);
      }
    }
  }

  @Override
  final String wanted() {
    return "a map";
  }

  /** That of records: all fields are there before there is a value. */
  static final class OfRecord extends RecordShape {
    private static final Object MISSING = new Object();

    private final MethodHandle constructor;

    OfRecord(RecordFields fields, List<MethodHandle> getters, MethodHandle constructor) {
      super(fields, getters);
      this.constructor = constructor;
    }

    @Override
    Object read(ValueReader r) {
      r.charge(bare());
      @Nullable Object[] values = new Object[fields.size()];
      Arrays.fill(values, MISSING);
      readFields(r, (index, value) -> values[index] = value);
      for (int i = 0; i < values.length; i++) {
        if (values[i] == MISSING) {
          Shape missing = fields.shape(i);
          r.charge(missing.memory());
          values[i] = missing.zero();
        }
      }
      return make(values);
    }

    @Override
    Object zero() {
      @Nullable Object[] values = new Object[fields.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = fields.shape(i).zero();
      }
      return make(values);
    }

    @Override
    long memory() {
      long all = bare();
      for (int i = 0; i < fields.size(); i++) {
        all += fields.shape(i).memory();
      }
      return all;
    }

    Object make(@Nullable Object[] values) {
      try {
        return (Object) constructor.invokeExact(values);
      } catch (ValueException | Error e) {
        throw e;
      } catch (Throwable e) {
        // What it says may quote the value, or names of ours.
        throw ValueException.bad("the values of this record are not ones that it takes");
      }
    }
  }

  /** That of classes: a field that is missing keeps what the constructor gave it. */
  static final class OfClass extends RecordShape {
    private final MethodHandle constructor;
    private final MethodHandle[] setters;

    OfClass(
        RecordFields fields,
        List<MethodHandle> getters,
        List<MethodHandle> setters,
        MethodHandle constructor) {
      super(fields, getters);
      this.setters = setters.toArray(MethodHandle[]::new);
      this.constructor = constructor;
    }

    @Override
    Object read(ValueReader r) {
      r.charge(bare());
      Object made = zero();
      readFields(r, (index, value) -> set(made, index, value));
      return made;
    }

    private void set(Object to, int index, @Nullable Object value) {
      try {
        setters[index].invokeExact(to, value);
      } catch (Error e) {
        throw e;
      } catch (Throwable e) {
        throw ValueException.bad("this value is not one that it takes");
      }
    }

    @Override
    long memory() {
      return bare(); // and what its constructor makes, which nobody knows
    }

    @Override
    Object zero() {
      try {
        return (Object) constructor.invokeExact(new Object[0]);
      } catch (Throwable e) {
        throw Handles.unexpected(e);
      }
    }
  }
}
