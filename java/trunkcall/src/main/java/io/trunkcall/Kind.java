package io.trunkcall;

/** How many messages go each way. */
public enum Kind {
  /** One request, one response. */
  UNARY("unary"),
  /** Many requests, one response. */
  CLIENT_STREAM("client-streaming"),
  /** One request, many responses. */
  SERVER_STREAM("server-streaming"),
  /** Many messages both ways, in any order. */
  BIDI_STREAM("bidi-streaming"),
  /** One request, no response: the caller learns whether the call was accepted. */
  ONE_WAY("one-way");

  private final String words;

  Kind(String words) {
    this.words = words;
  }

  /** Whether there is exactly one request. */
  public boolean takesOne() {
    return this == UNARY || this == SERVER_STREAM || this == ONE_WAY;
  }

  /** Whether there is exactly one response. */
  public boolean answersOne() {
    return this == UNARY || this == CLIENT_STREAM;
  }

  /** Whether there may be more than one message in a direction. */
  public boolean streams() {
    return this != UNARY && this != ONE_WAY;
  }

  /** As people write it: {@code client-streaming}. */
  @Override
  public String toString() {
    return words;
  }
}
