package io.trunkcall.codefirst;

import io.trunkcall.Code;
import io.trunkcall.Method;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a code-first method takes and gives, found out once. */
final class Signature {
  final String name; // the public one, "/calc/div"
  final Places parameters;
  final Places results;
  final ResultForm resultForm;

  /** What the forms of one method agree in, for people. */
  final String types;

  private Signature(String name, Places parameters, ResultForm resultForm, String types) {
    this.name = name;
    this.parameters = parameters;
    this.results = resultForm.places();
    this.resultForm = resultForm;
    this.types = types;
  }

  /** Throws IllegalArgumentException, naming the parameter whose values cannot be carried. */
  static Signature of(String name, List<Declared> parameters, Declared result) {
    List<Shape> shapes = new ArrayList<>();
    List<Class<?>> types = new ArrayList<>();
    StringBuilder words = new StringBuilder("(");
    for (Declared parameter : parameters) {
      words.append(types.isEmpty() ? "" : ", ").append(parameter.words());
      shapes.add(shape("parameter " + (shapes.size() + 1), parameter::shape));
      types.add(parameter.raw());
    }
    words.append(") -> ").append(result.words());
    Places taken = new Places(shapes, types);
    ResultForm form = shape("its result", () -> ResultForm.of(result));
    return new Signature(name, taken, form, words.toString());
  }

  private interface Making<T> {
    T make();
  }

  private static <T> T shape(String place, Making<T> making) {
    try {
      return making.make();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(place + ": " + e.getMessage(), e);
    }
  }

  /** The method, for callers and servers. */
  Method<Arguments, Results> method(ValueCodec.Form form) {
    return Method.unary(
        name,
        new ValueCodec<>(new ArgumentsMessage(this), form, false),
        new ValueCodec<>(new ResultsMessage(this), form, false));
  }

  String count() {
    return parameters.size() == 1 ? "1 parameter" : parameters.size() + " parameters";
  }

  /** How a call fails that a parameter or result cannot be carried for. */
  StatusException fault(String what, int index, ValueException e) {
    return failed(
        e.isLimit() ? Code.RESOURCE_EXHAUSTED : Code.INVALID_ARGUMENT,
        what + " " + (index + 1) + " of " + name + e.told(),
        e);
  }

  /** What is wrong with a result: nothing that the caller did. */
  StatusException resultFault(int index, ValueException e) {
    String place = "result " + (index + 1) + " of " + name;
    return failed(
        e.isLimit() ? Code.RESOURCE_EXHAUSTED : Code.INTERNAL,
        e.isPrivate() ? place + " cannot be carried" : place + e.told(),
        e);
  }

  static StatusException failed(Code code, String message, @Nullable Throwable cause) {
    StatusException failed = new StatusException(Status.of(code, message));
    if (cause != null) {
      failed.initCause(cause);
    }
    return failed;
  }
}
