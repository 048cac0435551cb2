package io.trunkcall.peer;

import io.trunkcall.load.Failed;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;

/** Where a command prints: its results to one stream, all else to the other. */
public final class Console {
  private static final int BUFFER = 64 << 10;

  private final PrintStream out;
  private final PrintStream err;
  private final ReentrantLock lock = new ReentrantLock(); // a line is printed whole

  /** Prints to these. */
  public Console(PrintStream out, PrintStream err) {
    this.out = out;
    this.err = err;
  }

  static Console ofProcess() {
    return new Console(stream(FileDescriptor.out), stream(FileDescriptor.err));
  }

  private static PrintStream stream(FileDescriptor file) {
    return new PrintStream(
        new BufferedOutputStream(new FileOutputStream(file), BUFFER),
        false,
        StandardCharsets.UTF_8);
  }

  PrintStream out() {
    return out;
  }

  PrintStream err() {
    return err;
  }

  /**
   * Prints a line of the result.
   *
   * @throws Failed if nobody takes it
   */
  public void print(String line) throws Failed {
    lock.lock();
    try {
      out.print(line + "\n");
      if (out.checkError()) { // which flushes
        throw new Failed("nobody takes the output");
      }
    } finally {
      lock.unlock();
    }
  }

  /** Takes results that are no lines. Flushing fails if nobody takes them. */
  OutputStream bytes() {
    return new FilterOutputStream(out) {
      @Override
      public void write(byte[] array, int offset, int length) {
        Console.this.out.write(array, offset, length);
      }

      @Override
      public void flush() throws IOException {
        if (Console.this.out.checkError()) { // which flushes
          throw new IOException("nobody takes the output");
        }
      }
    };
  }

  /** Prints a line on stderr; a reader who is gone is told nothing. */
  public void tell(String line) {
    lock.lock();
    try {
      err.print(line + "\n");
      err.flush();
    } finally {
      lock.unlock();
    }
  }

  /** Joins the parts of a text that stands on several lines. */
  static String oneLine(String text) {
    return Arrays.stream(text.split("[\r\n]"))
        .filter(part -> !part.isEmpty())
        .collect(Collectors.joining("; "));
  }
}
