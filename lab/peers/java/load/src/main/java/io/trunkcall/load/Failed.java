package io.trunkcall.load;

/** There is no result: nothing could be called or served, or the warm-up failed. Status 1. */
public final class Failed extends Exception {
  public Failed(String message) {
    super(message);
  }

  public Failed(String message, Throwable cause) {
    super(message, cause);
  }

  /** A failure in one line: its class and what it says. */
  public static String told(Throwable failure) {
    String message = failure.getMessage();
    String name = failure.getClass().getSimpleName();
    return message == null ? name : oneLine(name + ": " + message);
  }

  /** The text with its line ends replaced. */
  public static String oneLine(String text) {
    return text.strip().replaceAll("\\s*\\R\\s*", "; ");
  }
}
