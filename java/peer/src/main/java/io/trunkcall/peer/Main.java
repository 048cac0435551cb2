package io.trunkcall.peer;

import java.util.List;

/** The process: its words, its streams, its exit status. */
public final class Main {
  private Main() {}

  /** Carries out a command line. */
  public static void main(String[] words) {
    System.exit(new Program(Console.ofProcess(), System.in).run(List.of(words)));
  }
}
