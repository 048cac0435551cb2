package io.trunkcall.registry;

import java.util.Arrays;

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

  /**
   * Says whether the record may take the place of what stands under its key: not if that is the
   * good record of another server. Equal bytes are the same instance, and rubbish is nobody's
   * (registry.md 5.7).
   *
   * @throws RegistryException if it may not
   */
  public void checkReplaces(byte[] there) throws RegistryException {
    if (Arrays.equals(there, data)) {
      return;
    }
    ServiceRecord other;
    try {
      other = ServiceRecord.parseAt(record.service(), record.id(), there);
    } catch (InvalidRecordException rubbish) {
      return;
    }
    String first = other.addresses().get(0);
    throw new RegistryException(this + ": another server is published under this id, at " + first);
  }

  @Override
  public String toString() {
    return record.key();
  }
}
