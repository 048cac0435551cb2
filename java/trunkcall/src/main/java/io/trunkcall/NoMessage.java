package io.trunkcall;

/** The responses of one-way methods, of which there are none. */
final class NoMessage implements Codec<Void> {
  static final NoMessage NONE = new NoMessage();

  private NoMessage() {}

  @Override
  public int number() {
    return RawCodec.RAW.number();
  }

  @Override
  public String name() {
    return "none";
  }

  @Override
  public void encode(Void message, Output out) {
    throw new IllegalStateException("a one-way method has no response");
  }

  @Override
  public Void decode(byte[] array, int offset, int length) {
    throw new IllegalStateException("a one-way method has no response");
  }
}
