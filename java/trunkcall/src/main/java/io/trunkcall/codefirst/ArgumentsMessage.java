package io.trunkcall.codefirst;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import org.jspecify.annotations.Nullable;

/** A request: an array of the arguments (code-first.md 1.2). */
final class ArgumentsMessage implements Message<Arguments> {
  private final Signature signature;

  ArgumentsMessage(Signature signature) {
    this.signature = signature;
  }

  @Override
  public void write(ValueWriter w, Arguments message) {
    w.beginArray(message.size());
    for (int i = 0; i < message.size(); i++) {
      try {
        signature.parameters.shape(i).write(w, message.get(i));
      } catch (ValueException e) {
        throw signature.fault("parameter", i, e);
      }
    }
    w.endArray();
  }

  @Override
  public Arguments read(ValueReader r) {
    int want = signature.parameters.size();
    int announced;
    try {
      announced = r.beginArray();
    } catch (ValueException e) {
      throw refused(signature.name + " takes an array of " + signature.count() + e.told());
    }
    if (announced >= 0 && announced != want) {
      throw wrongNumber(Integer.toString(announced));
    }
    @Nullable Object[] values = new Object[want];
    int left = announced;
    for (int i = 0; ; i++, left--) {
      if (!r.more(left)) {
        if (i < want) {
          throw wrongNumber(Integer.toString(i));
        }
        break;
      }
      if (i == want) {
        throw wrongNumber("more");
      }
      try {
        values[i] = signature.parameters.shape(i).read(r);
      } catch (ValueException e) {
        throw signature.fault("parameter", i, e);
      }
    }
    r.end();
    return new Arguments(signature, values);
  }

  private StatusException wrongNumber(String got) {
    return refused(signature.name + " takes " + signature.count() + ", got " + got);
  }

  private static StatusException refused(String message) {
    return Signature.failed(Code.INVALID_ARGUMENT, message, null);
  }

  @Override
  public RuntimeException fault(ValueException e) {
    Code code = e.isLimit() ? Code.RESOURCE_EXHAUSTED : Code.INVALID_ARGUMENT;
    return Signature.failed(code, signature.name + e.told(), e);
  }
}
