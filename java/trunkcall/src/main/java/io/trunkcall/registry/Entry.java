package io.trunkcall.registry;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What stands in a registry under the key of an instance, whatever it is. */
public final class Entry {
  private static final byte[] NONE = {};

  private final String id;
  private final byte[] data;
  private final String from;
  private final @Nullable String fault;
  private final byte[] digest; // of the bytes that the fault is about, which are not kept

  private Entry(String id, byte[] data, String from, @Nullable String fault, byte[] digest) {
    this.id = Objects.requireNonNull(id, "id");
    this.data = Objects.requireNonNull(data, "data");
    this.from = Objects.requireNonNull(from, "from");
    this.fault = fault;
    this.digest = digest;
  }

  /** What stands under an id. The bytes are the entry's from then on. */
  public static Entry of(String id, byte[] data) {
    return new Entry(id, data, "", null, NONE);
  }

  /** The same, found at a place that is told of in place of the key: a path. */
  public static Entry of(String id, byte[] data, String from) {
    return new Entry(id, data, from, null, NONE);
  }

  /** What is no record, for another reason than its bytes. */
  public static Entry faulty(String id, String from, String fault) {
    return faulty(id, from, fault, NONE);
  }

  /** What is no record for its bytes, which are not kept: their digest says whether they change. */
  static Entry faulty(String id, String from, String fault, byte[] digest) {
    return new Entry(id, NONE, from, Objects.requireNonNull(fault, "fault"), digest);
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

  /** Why it is no record, where that is not for its {@link #data}. */
  public @Nullable String fault() {
    return fault;
  }

  /** Whether the same stands there, wherever it was found. */
  boolean says(Entry other) {
    return Objects.equals(fault, other.fault)
        && Arrays.equals(data, other.data)
        && Arrays.equals(digest, other.digest);
  }

  @Override
  public String toString() {
    return id + (fault == null ? " (" + data.length + " bytes)" : ": " + fault);
  }
}
