package io.trunkcall.lab.program;

/** The server answered something else than it was asked. */
public final class WrongAnswer extends Exception {
  public WrongAnswer(String message) {
    super(message);
  }

  public static WrongAnswer ofBytes(int size) {
    return new WrongAnswer(size + " bytes came back that were not sent");
  }
}
