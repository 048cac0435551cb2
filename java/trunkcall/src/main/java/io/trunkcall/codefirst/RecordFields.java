package io.trunkcall.codefirst;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The fields of a record, by public name. */
final class RecordFields {
  private final FieldName[] names;
  private final Shape[] shapes;
  private final Map<String, Integer> indices = new HashMap<>();

  RecordFields(List<String> names, List<Shape> shapes) {
    this.names = names.stream().map(FieldName::new).toArray(FieldName[]::new);
    this.shapes = shapes.toArray(Shape[]::new);
    for (String name : names) {
      indices.put(name, indices.size());
    }
  }

  int size() {
    return names.length;
  }

  FieldName name(int index) {
    return names[index];
  }

  Shape shape(int index) {
    return shapes[index];
  }

  /** The index of a field, or NO_FIELD. */
  int index(String name) {
    return indices.getOrDefault(name, ValueReader.NO_FIELD);
  }

  ValueException within(int index, ValueException e) {
    return e.within("." + names[index].text);
  }
}
