package io.trunkcall.registry;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What stands in a registry under the key of an instance, whatever it is. */
public final class Entry {
  private final String id;
  private final byte[] data;
  private final String from;
  private final @Nullable String fault;

  private Entry(String id, byte[] data, String from, @Nullable String fault) {
    this.id = Objects.requireNonNull(id, "id");
    this.data = Objects.requireNonNull(data, "data");
    this.from = Objects.requireNonNull(from, "from");
    this.fault = fault;
  }

  /** What stands under an id. The bytes are the entry's from then on. */
  public static Entry of(String id, byte[] data) {
    return new Entry(id, data, "", null);
  }

  /** The same, found at a place that is told of in place of the key: a path. */
  public static Entry of(String id, byte[] data, String from) {
    return new Entry(id, data, from, null);
  }

  /** What is no record, for another reason than its bytes. */
  public static Entry faulty(String id, String from, String fault) {
    return new Entry(id, new byte[0], from, Objects.requireNonNull(fault, "fault"));
  }

  /** Of which instance. */
  public String id() {
    return id;
  }

  /** The bytes that stand there; nobody may change them. */
  public byte[] data() {
    return data;
  }

  /** Where it was found, if its key does not say that; else empty. */
  public String from() {
    return from;
  }

  /** Why it is no record, where that is not for its bytes. */
  public @Nullable String fault() {
    return fault;
  }

  /** Whether the same stands there, wherever it was found. */
  boolean says(Entry other) {
    return Objects.equals(fault, other.fault) && Arrays.equals(data, other.data);
  }

  @Override
  public String toString() {
    return id + (fault == null ? " (" + data.length + " bytes)" : ": " + fault);
  }
}
