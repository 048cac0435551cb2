package io.trunkcall;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** How priorities travel (policy.md 7). */
final class Priorities {
  /** The entry of the metadata that a priority travels in. */
  static final String KEY = "trunk-priority";

  private Priorities() {}

  /** The priority that the metadata of a request says. */
  static Priority in(Metadata metadata) {
    List<Metadata.Entry> entries = metadata.entries();
    for (int at = entries.size() - 1; at >= 0; at--) {
      Metadata.Entry entry = entries.get(at);
      if (entry.key().equals(KEY)) {
        String text = entry.text();
        return text == null ? Priority.NORMAL : Priority.of(text);
      }
    }
    return Priority.NORMAL;
  }

  /** The priority of a call that is made on this thread, of which an option may say one. */
  static Priority of(@Nullable Priority said, @Nullable Rules rules) {
    if (said != null) {
      return said;
    }
    if (rules == null) {
      return Priority.NORMAL;
    }
    Priority ruled = rules.holds.priority();
    if (ruled != null) {
      return ruled;
    }
    ServerCall within = CurrentCall.get();
    return within == null ? Priority.NORMAL : in(within.metadata());
  }

  /** The metadata of a call with its priority; null: as it is. */
  static Metadata carrying(Metadata metadata, @Nullable Priority priority) {
    return priority == null || in(metadata) == priority
        ? metadata
        : metadata.toBuilder().add(KEY, priority.word()).build();
  }
}
