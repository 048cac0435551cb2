package io.trunkcall.codefirst;

import org.jspecify.annotations.Nullable;

/** Stands for the shape of a recursive type within itself, which is not finished yet. */
final class LaterShape extends Shape {
  private @Nullable Shape shape;

  void become(Shape finished) {
    shape = finished;
  }

  /** The shape if it is finished, else this. */
  Shape found() {
    return shape == null ? this : shape;
  }

  private Shape finished() {
    if (shape == null) {
      throw new IllegalStateException("the shape is still being made");
    }
    return shape;
  }

  @Override
  void writeValue(ValueWriter w, Object value) {
    finished().writeValue(w, value);
  }

  @Override
  @Nullable Object read(ValueReader r) {
    return finished().read(r);
  }

  @Override
  @Nullable Object zero() {
    return finished().zero();
  }

  @Override
  long memory() {
    return finished().memory();
  }

  @Override
  String wanted() {
    return finished().wanted();
  }
}
