package io.trunkcall.load;

/** A command line that cannot be carried out as it stands. Status 2. */
public final class UsageError extends Exception {
  public UsageError(String message) {
    super(message);
  }
}
