package io.trunkcall;

import java.util.Locale;

/**
 * How much a call matters, the highest first: limits of a policy file leave more room to a higher
 * one.
 */
public enum Priority {
  /** Must go through. */
  CRITICAL,
  /** Matters more than most. */
  HIGH,
  /** What a call has of which nobody says anything. */
  NORMAL,
  /** May wait or fail first. */
  LOW;

  private final String word = name().toLowerCase(Locale.ROOT);

  /** The word that policy files, metadata and other languages have for it. */
  public String word() {
    return word;
  }

  /** The priority of a word; {@link #NORMAL} of any other text. */
  public static Priority of(String word) {
    for (Priority one : values()) {
      if (one.word.equals(word)) {
        return one;
      }
    }
    return NORMAL;
  }
}
