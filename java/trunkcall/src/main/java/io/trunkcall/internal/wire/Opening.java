package io.trunkcall.internal.wire;

import io.trunkcall.Metadata;

/** How a call is opened, beyond its name and first message. May be used for many calls. */
public final class Opening {
  int codec = 1;
  int compression;
  Metadata metadata = Metadata.EMPTY;
  int attempt;
  boolean end = true;
  boolean single = true;
  boolean oneway;
  boolean inline;

  /** A unary call in codec 1, without metadata. */
  public Opening() {}

  /** The codec of its messages. */
  public Opening codec(int codec) {
    this.codec = codec;
    return this;
  }

  /** The compression that its first message is in; 0: none. */
  public Opening compression(int compression) {
    this.compression = compression;
    return this;
  }

  /** Its metadata. */
  public Opening metadata(Metadata metadata) {
    this.metadata = metadata;
    return this;
  }

  /** Which attempt it is, told to the peer in the protocol's own metadata; 0: nothing is told. */
  public Opening attempt(int attempt) {
    this.attempt = attempt;
    return this;
  }

  /** Whether no message follows the first one: half-closed at once. True unless set. */
  public Opening end(boolean end) {
    this.end = end;
    return this;
  }

  /** Whether exactly one answer message is expected. True unless set. */
  public Opening single(boolean single) {
    this.single = single;
    return this;
  }

  /** Whether the caller wants acceptance, not an answer (protocol.md 7.5). */
  public Opening oneway(boolean oneway) {
    this.oneway = oneway;
    return this;
  }

  /** Whether the name is to stand in the body, without an id being spent on it. */
  public Opening inline(boolean inline) {
    this.inline = inline;
    return this;
  }
}
