package io.trunkcall.codefirst;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** That of a type that has null besides the values of another: nullable, or an Optional. */
final class OptionalShape extends Shape {
  private final Shape of;
  private final boolean wrapped;

  private OptionalShape(Shape of, boolean wrapped) {
    this.of = of;
    this.wrapped = wrapped;
  }

  static Shape nullable(Shape of) {
    return of.takesNull() ? of : new OptionalShape(of, false);
  }

  static Shape wrapped(Shape of) {
    return new OptionalShape(of, true);
  }

  @Override
  void writeValue(ValueWriter w, Object value) {
    if (!wrapped) {
      of.writeValue(w, value);
      return;
    }
    Object inside = ((Optional<?>) value).orElse(null);
    if (inside == null) {
      w.writeNull();
    } else {
      of.writeValue(w, inside);
    }
  }

  @Override
  void writeAbsent(ValueWriter w) {
    w.writeNull();
  }

  @Override
  @Nullable Object read(ValueReader r) {
    if (r.takeNull()) {
      return zero();
    }
    Object value = of.read(r);
    return wrapped ? Optional.ofNullable(value) : value;
  }

  @Override
  @Nullable Object zero() {
    return wrapped ? Optional.empty() : null;
  }

  @Override
  String wanted() {
    return of.wanted();
  }

  @Override
  boolean takesNull() {
    return true;
  }
}
