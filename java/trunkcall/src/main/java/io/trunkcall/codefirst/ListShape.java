package io.trunkcall.codefirst;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** That of lists and collections. What is read can be changed by its owner. */
class ListShape extends Shape {
  final Shape element;

  ListShape(Shape element) {
    this.element = element;
  }

  @Override
  void writeValue(ValueWriter w, Object value) {
    Collection<?> elements = (Collection<?>) value;
    w.beginArray(elements.size());
    int i = 0;
    for (Object each : elements) {
      try {
        element.write(w, each);
      } catch (ValueException e) {
        throw e.at(i);
      }
      i++;
    }
    w.endArray();
  }

  @Override
  Object read(ValueReader r) {
    return readList(r);
  }

  final List<@Nullable Object> readList(ValueReader r) {
    int announced = r.beginArray();
    List<@Nullable Object> list =
        new ArrayList<>(Math.min(Math.max(announced, 0), ValueReader.PREALLOCATED));
    for (int left = announced; r.more(left); left--) {
      try {
        list.add(element.read(r));
      } catch (ValueException e) {
        throw e.at(list.size());
      }
    }
    return list;
  }

  @Override
  Object zero() {
    return new ArrayList<>();
  }

  @Override
  long memory() {
    return 24;
  }

  @Override
  String wanted() {
    return ValueException.AN_ARRAY;
  }

  /** That of arrays, other than of bytes. */
  static final class OfArray extends ListShape {
    private final Class<?> type;
    private final MethodHandle get; // (Object array, int index)Object
    private final MethodHandle set; // (Object array, int index, Object value)void

    OfArray(Shape element, Class<?> array) {
      super(element);
      type = array.getComponentType();
      get =
          MethodHandles.arrayElementGetter(array)
              .asType(MethodType.methodType(Object.class, Object.class, int.class));
      set =
          MethodHandles.arrayElementSetter(array)
              .asType(MethodType.methodType(void.class, Object.class, int.class, Object.class));
    }

    @Override
    void writeValue(ValueWriter w, Object array) {
      int length = Array.getLength(array);
      w.beginArray(length);
      for (int i = 0; i < length; i++) {
        try {
          element.write(w, at(array, i));
        } catch (ValueException e) {
          throw e.at(i);
        }
      }
      w.endArray();
    }

    private @Nullable Object at(Object array, int index) {
      try {
        return (Object) get.invokeExact(array, index);
      } catch (Throwable e) {
        throw Handles.unexpected(e);
      }
    }

    @Override
    Object read(ValueReader r) {
      List<@Nullable Object> list = readList(r);
      Object array = Array.newInstance(type, list.size());
      try {
        for (int i = 0; i < list.size(); i++) {
          set.invokeExact(array, i, list.get(i));
        }
      } catch (Throwable e) {
        throw Handles.unexpected(e);
      }
      return array;
    }

    @Override
    Object zero() {
      return Array.newInstance(type, 0);
    }
  }
}
