package io.trunkcall.peer;

import com.google.gson.JsonPrimitive;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The log: a line of {@code key=value} pairs on stderr for each event. */
final class Log extends Handler {
  private static final Logger OWN = Logger.getLogger("io.trunkcall.peer");

  private final Console console;

  private Log(Console console) {
    this.console = console;
  }

  /** Logs what is at least of that level, and of the program's own everything from INFO on. */
  static void begin(Console console, Level level) {
    Logger root = Logger.getLogger("");
    for (Handler before : root.getHandlers()) {
      root.removeHandler(before);
    }
    root.addHandler(new Log(console));
    root.setLevel(level);
    OWN.setLevel(Level.INFO);
  }

  /** Logs something of the program's own. */
  static void info(String text, String key, Object value) {
    LogRecord event = new LogRecord(Level.INFO, text);
    event.setLoggerName(OWN.getName());
    event.setParameters(new Object[] {key, value});
    OWN.log(event);
  }

  @Override
  public void publish(LogRecord event) {
    StringBuilder line = new StringBuilder();
    String when =
        DateTimeFormatter.ISO_INSTANT.format(event.getInstant().truncatedTo(ChronoUnit.MILLIS));
    add(line, "time", when);
    add(
        line,
        "level",
        event.getLevel().equals(Level.WARNING) ? "WARN" : event.getLevel().getName());
    add(line, "msg", event.getMessage() + told(event.getThrown()));
    Object @Nullable [] pairs = event.getParameters();
    if (pairs != null && pairs.length == 2) {
      add(line, String.valueOf(pairs[0]), String.valueOf(pairs[1]));
    }
    console.tell(line.toString());
  }

  private static String told(@Nullable Throwable thrown) {
    if (thrown == null) {
      return "";
    }
    java.io.StringWriter text = new java.io.StringWriter();
    thrown.printStackTrace(new java.io.PrintWriter(text));
    return ": " + text;
  }

  private static void add(StringBuilder line, String key, String value) {
    if (!line.isEmpty()) {
      line.append(' ');
    }
    boolean plain = value.matches("[^\\s\"=]+");
    line.append(key).append('=').append(plain ? value : JsonForm.tight(new JsonPrimitive(value)));
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
