package io.trunkcall.registry;

/** A record, and its bytes. */
public final class Written {
  private final ServiceRecord record;
  private final byte[] data;

  /**
   * A record as it is written.
   *
   * @throws InvalidRecordException for what cannot be a record
   */
  public Written(ServiceRecord record) {
    this(record, record.toBytes());
  }

  /** One that was read. */
  Written(ServiceRecord record, byte[] data) {
    this.record = record;
    this.data = data;
  }

  /** What they say. */
  public ServiceRecord record() {
    return record;
  }

  /** The bytes; nobody may change them. */
  public byte[] data() {
    return data;
  }

  @Override
  public String toString() {
    return record.key();
  }
}
