package io.trunkcall.spring;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Gives a builder what properties say. What is wrong with one is told by the property's name. */
final class Property {
  // How a builder begins: by its own name of the option.
  private static final Pattern OPTION = Pattern.compile("^option [A-Za-z.]+: ");

  private Property() {}

  /** Something that a property says, taken. */
  interface Taken<T> {
    void take(T said);
  }

  /** Has {@code to} take what is said; nothing: null. */
  static <T> void give(String name, @Nullable T said, Taken<T> to) {
    if (said != null) {
      give(name, () -> to.take(said));
    }
  }

  static void give(String name, Runnable gives) {
    try {
      gives.run();
    } catch (Wrong e) {
      throw new Wrong(name + "." + e.getMessage(), e);
    } catch (IllegalArgumentException | UnsupportedOperationException e) {
      String why = OPTION.matcher(String.valueOf(e.getMessage())).replaceFirst("");
      throw new Wrong(name + ": " + why, e);
    }
  }

  /** A property is wrong, whose name the text begins with. */
  static final class Wrong extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    Wrong(String text, Throwable cause) {
      super(text, cause);
    }
  }
}
