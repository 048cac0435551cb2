package io.trunkcall.internal.policy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Reads the fields of mappings of a file, and gathers their faults (policy.md 5.4). */
final class Reading {
  private static final int MOST_FAULTS = 20; // of a file that are told

  private final List<Fault> faults = new ArrayList<>();
  private int count; // of all faults, told or not

  /** A field that a mapping may have, and how it is read. */
  record Field(String name, boolean required, Form<?> form) {
    static Field of(String name, Form<?> form) {
      return new Field(name, false, form);
    }

    static Field required(String name, Form<?> form) {
      return new Field(name, true, form);
    }
  }

  /** What is told if it is true of what a mapping says. */
  record Check(String told, Predicate<Said> wrong) {}

  /** All faults that are told. */
  List<Fault> faults() {
    return faults;
  }

  int count() {
    return count;
  }

  void fault(int line, String path, String what) {
    if (count++ < MOST_FAULTS) {
      faults.add(new Fault(line, path, what));
    }
  }

  void wants(String what, Node node, String path) {
    fault(node.line, path, "want " + what + ", found " + node.found());
  }

  /** What the fields of a mapping say; they are checked together if none has a fault. */
  Said mapping(Node node, String path, List<Field> fields, List<Check> checks) {
    Said said = new Said();
    if (!node.is(Node.Kind.MAPPING)) {
      wants("a mapping", node, path);
      return said;
    }
    int before = count;
    for (Map.Entry<String, Node> entry : node.entries.entrySet()) {
      String at = Texts.below(path, entry.getKey());
      Field field = named(fields, entry.getKey());
      if (field == null) {
        fault(entry.getValue().line, at, "unknown field");
      } else {
        said.put(field.name, field.form.read(this, entry.getValue(), at));
      }
    }
    for (Field field : fields) {
      if (field.required && !node.has(field.name)) {
        fault(node.line, Texts.below(path, field.name), "is missing");
      }
    }
    if (count == before) {
      for (Check check : checks) {
        if (check.wrong.test(said)) {
          fault(node.line, path, check.told);
        }
      }
    }
    return said;
  }

  private static @Nullable Field named(List<Field> fields, String name) {
    for (Field field : fields) {
      if (field.name.equals(name)) {
        return field;
      }
    }
    return null;
  }

  /** Reads an entry of a mapping whose keys are names. */
  interface Entry {
    void read(String name, Node node, String path);
  }

  /** Reads each entry of a mapping whose keys are names of such things. */
  void named(Node node, String path, String what, Predicate<String> isName, Entry entry) {
    if (!node.is(Node.Kind.MAPPING)) {
      wants("a mapping", node, path);
      return;
    }
    node.entries.forEach(
        (name, value) -> {
          String at = Texts.below(path, name);
          if (isName.test(name)) {
            entry.read(name, value, at);
          } else {
            fault(value.line, at, "not the name of a " + what);
          }
        });
  }
}
