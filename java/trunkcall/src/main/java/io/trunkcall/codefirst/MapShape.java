package io.trunkcall.codefirst;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** That of maps. What is read can be changed by its owner. */
final class MapShape extends Shape {
  private final Shape key;
  private final Shape element;

  MapShape(Shape key, Shape element) {
    this.key = key;
    this.element = element;
  }

  @Override
  void writeValue(ValueWriter w, Object value) {
    Map<?, ?> map = (Map<?, ?>) value;
    w.beginMap(map.size());
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      w.key();
      try {
        key.write(w, entry.getKey());
      } catch (ValueException e) {
        throw e.within("[key]");
      }
      try {
        element.write(w, entry.getValue());
      } catch (ValueException e) {
        throw e.within("[value]");
      }
    }
    w.endMap();
  }

  @Override
  Object read(ValueReader r) {
    Map<@Nullable Object, @Nullable Object> map = new LinkedHashMap<>();
    for (int left = r.beginMap(); r.more(left); left--) {
      Object name;
      try {
        name = key.read(r);
      } catch (ValueException e) {
        throw e.within("[key]");
      }
      try {
        map.put(name, element.read(r));
      } catch (ValueException e) {
        throw e.within("[value]");
      }
    }
    return map;
  }

  @Override
  Object zero() {
    return new LinkedHashMap<>();
  }

  @Override
  long memory() {
    return 64;
  }

  @Override
  String wanted() {
    return "a map";
  }
}
