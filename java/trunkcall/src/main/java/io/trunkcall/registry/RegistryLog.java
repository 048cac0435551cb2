package io.trunkcall.registry;

/** The log of what is published and found. What stands in registries is escaped. */
final class RegistryLog {
  private static final System.Logger LOGGER = System.getLogger("io.trunkcall");
  private static final int MOST = 1_024; // characters of a text

  private RegistryLog() {}

  static void info(String text) {
    LOGGER.log(System.Logger.Level.INFO, printable(text));
  }

  static void warn(String text) {
    LOGGER.log(System.Logger.Level.WARNING, printable(text));
  }

  private static String printable(String text) {
    StringBuilder made = new StringBuilder(Math.min(text.length(), MOST));
    text.chars()
        .limit(MOST)
        .forEach(
            one -> {
              if (Character.isISOControl(one) || Character.getType(one) == Character.FORMAT) {
                made.append(String.format("\\u%04x", one));
              } else {
                made.append((char) one);
              }
            });
    return text.length() > MOST ? made.append('…').toString() : made.toString();
  }
}
