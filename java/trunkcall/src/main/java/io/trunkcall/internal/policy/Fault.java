package io.trunkcall.internal.policy;

/**
 * What is wrong with a file (policy.md 5). Lines count from 1; a path is empty if there is none.
 */
public record Fault(int line, String path, String what) {
  @Override
  public String toString() {
    return path.isEmpty()
        ? "line " + line + ": " + what
        : "line " + line + ": " + path + ": " + what;
  }
}
