package io.trunkcall;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What travels beside the messages of a call: entries in order, of which several may have one key.
 * Keys are lower-case letters, digits, {@code _}, {@code .} and {@code -}, at most 255 of them. A
 * value is text of printable ASCII, or bytes if the key ends in {@code -bin}.
 *
 * <p>Metadata never changes. It is checked when it is sent: a call with what breaks these rules
 * ends {@link Code#INVALID_ARGUMENT} and is not sent.
 */
public final class Metadata {
  /** No entries. */
  public static final Metadata EMPTY = new Metadata(List.of());

  private final List<Entry> entries;

  private Metadata(List<Entry> entries) {
    this.entries = entries;
  }

  /** One entry of text. */
  public static Metadata of(String key, String value) {
    return new Metadata(List.of(Entry.of(key, value)));
  }

  /** A builder without entries. */
  public static Builder builder() {
    return new Builder();
  }

  /** All entries in order. */
  public List<Entry> entries() {
    return entries;
  }

  /** Whether there is no entry. */
  public boolean isEmpty() {
    return entries.isEmpty();
  }

  /** The text of the first entry with this key; null if there is none, or it has bytes. */
  public @Nullable String get(String key) {
    for (Entry entry : entries) {
      if (entry.key.equals(key)) {
        return entry.text;
      }
    }
    return null;
  }

  /** The texts of all entries with this key, in order. */
  public List<String> getAll(String key) {
    List<String> found = new ArrayList<>();
    for (Entry entry : entries) {
      if (entry.key.equals(key) && entry.text != null) {
        found.add(entry.text);
      }
    }
    return found;
  }

  /**
   * A copy of the bytes of the first entry with this key; null if there is none, or it has text.
   */
  public byte @Nullable [] getBytes(String key) {
    for (Entry entry : entries) {
      if (entry.key.equals(key)) {
        return entry.bytes == null ? null : entry.bytes.clone();
      }
    }
    return null;
  }

  /** A builder with these entries. */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.entries.addAll(entries);
    return builder;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Metadata that && entries.equals(that.entries);
  }

  @Override
  public int hashCode() {
    return entries.hashCode();
  }

  @Override
  public String toString() {
    return entries.toString();
  }

  /** A key and its value. */
  public static final class Entry {
    private final String key;
    private final @Nullable String text;
    private final byte @Nullable [] bytes;

    private Entry(String key, @Nullable String text, byte @Nullable [] bytes) {
      this.key = Objects.requireNonNull(key, "key");
      this.text = text;
      this.bytes = bytes;
    }

    /** An entry of text. */
    public static Entry of(String key, String text) {
      return new Entry(key, Objects.requireNonNull(text, "text"), null);
    }

    /** An entry of bytes, which are copied; its key is to end in {@code -bin}. */
    public static Entry of(String key, byte[] bytes) {
      return new Entry(key, null, bytes.clone());
    }

    /** The key. */
    public String key() {
      return key;
    }

    /** The value if it is text. */
    public @Nullable String text() {
      return text;
    }

    /** A copy of the value if it is bytes. */
    public byte @Nullable [] bytes() {
      return bytes == null ? null : bytes.clone();
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Entry that
          && key.equals(that.key)
          && Objects.equals(text, that.text)
          && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
      return (key.hashCode() * 31 + Objects.hashCode(text)) * 31 + Arrays.hashCode(bytes);
    }

    /** The key alone: values may be secrets. */
    @Override
    public String toString() {
      return key;
    }
  }

  /** Collects entries in order. */
  public static final class Builder {
    private final List<Entry> entries = new ArrayList<>();

    private Builder() {}

    /** Adds an entry of text. */
    public Builder add(String key, String text) {
      entries.add(Entry.of(key, text));
      return this;
    }

    /** Adds an entry of bytes, which are copied; its key is to end in {@code -bin}. */
    public Builder add(String key, byte[] bytes) {
      entries.add(Entry.of(key, bytes));
      return this;
    }

    /** Adds an entry. */
    public Builder add(Entry entry) {
      entries.add(Objects.requireNonNull(entry, "entry"));
      return this;
    }

    /** Adds all entries of {@code metadata}. */
    public Builder addAll(Metadata metadata) {
      entries.addAll(metadata.entries);
      return this;
    }

    /** The metadata. */
    public Metadata build() {
      return entries.isEmpty() ? EMPTY : new Metadata(List.copyOf(entries));
    }
  }
}
