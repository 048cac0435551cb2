package io.trunkcall.codefirst;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import org.jspecify.annotations.Nullable;

/** A response: null, the result, or an array of several (code-first.md 1.3). */
final class ResultsMessage implements Message<Results> {
  private final Signature signature;

  ResultsMessage(Signature signature) {
    this.signature = signature;
  }

  @Override
  public void write(ValueWriter w, Results message) {
    switch (message.size()) {
      case 0 -> w.writeNull();
      case 1 -> writeOne(w, message, 0);
      default -> {
        w.beginArray(message.size());
        for (int i = 0; i < message.size(); i++) {
          writeOne(w, message, i);
        }
        w.endArray();
      }
    }
  }

  private void writeOne(ValueWriter w, Results message, int index) {
    boolean own = message.signature == signature;
    try {
      (own ? signature.results.shape(index) : Shapes.ANY).write(w, message.get(index));
    } catch (ValueException e) {
      throw signature.resultFault(index, e);
    }
  }

  @Override
  public Results read(ValueReader r) {
    @Nullable Object[] values = new Object[signature.results.size()];
    switch (values.length) {
      case 0 -> r.skip();
      case 1 -> values[0] = readOnly(r);
      default -> readAll(r, values);
    }
    r.end();
    return new Results(signature, values);
  }

  private @Nullable Object readOnly(ValueReader r) {
    try {
      return signature.results.shape(0).read(r);
    } catch (ValueException e) {
      int came = e.isArrayAtTop() ? elements(r) : 1;
      if (came == 1) {
        throw signature.resultFault(0, e);
      }
      // An array where none is wanted is likely to be several results.
      throw failed(
          "want 1 result, got " + came + " (or a list of so many: " + e.getMessage() + ")");
    }
  }

  private void readAll(ValueReader r, @Nullable Object[] values) {
    int left;
    try {
      left = r.beginArray();
    } catch (ValueException e) {
      throw failed("want an array of " + values.length + " results" + e.told());
    }
    int came = 0;
    for (; r.more(left); left--) {
      if (came == values.length) {
        throw wrongNumber(came + 1 + behindOne(r, left));
      }
      try {
        values[came] = signature.results.shape(came).read(r);
      } catch (ValueException e) {
        throw signature.resultFault(came, e);
      }
      came++;
    }
    if (came < values.length) {
      throw wrongNumber(came);
    }
  }

  /** Passes over an element and those behind it, which it counts. */
  private static int behindOne(ValueReader r, int left) {
    r.skip();
    return rest(r, left - 1);
  }

  private StatusException wrongNumber(int got) {
    return failed("want " + signature.results.size() + " results, got " + got);
  }

  private StatusException failed(String what) {
    return Signature.failed(Code.INTERNAL, signature.name + ": " + what, null);
  }

  /** Reads an array and returns how many elements there are in it. */
  private static int elements(ValueReader r) {
    return rest(r, r.beginArray());
  }

  private static int rest(ValueReader r, int announced) {
    int count = 0;
    for (int left = announced; r.more(left); left--) {
      r.skip();
      count++;
    }
    return count;
  }

  @Override
  public RuntimeException fault(ValueException e) {
    Code code = e.isLimit() ? Code.RESOURCE_EXHAUSTED : Code.INTERNAL;
    return Signature.failed(code, signature.name + e.told(), e);
  }
}
