package io.trunkcall.registry;

import io.trunkcall.internal.transport.Clock;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What a watcher sees of the files of a service (registry.md 7.3, 7.4). Used by one thread. */
final class FolderLooking {
  private static final long EACH = 250_000; // µs between two looks
  private static final int PART = 20; // a look takes one part in so many of the time
  static final int MOST_RUBBISH = 10_000;

  /** Reads the first bytes of a file. */
  @FunctionalInterface
  interface Reading {
    byte[] read(Path path, int most) throws IOException;
  }

  /**
   * A file as it was when it last changed, {@code at} the looking's clock.
   *
   * @param state as it was last looked at, null if it never could be
   * @param lasting it is no record, but was one, which may still count
   * @param unread the system did not let it be looked at or read, which the next look tries again
   */
  private record Seen(
      @Nullable FileState state,
      long at,
      Entry entry,
      boolean lease,
      boolean lasting,
      boolean unread) {

    boolean isRecord() {
      return entry.fault() == null;
    }
  }

  /** What has changed. */
  record Changes(List<Entry> came, List<String> went) {}

  private final Path folder;
  private final String service;
  private final Path place;
  private final long mostBytes; // of records
  private final int mostRubbish; // files that are no records and are kept in mind
  private final Reading reading;
  private Map<String, Seen> files = new HashMap<>(); // by name
  private Map<String, Entry> told = new HashMap<>(); // by id
  private final LookedTime looked = new LookedTime();

  FolderLooking(Path folder, String service) {
    this(folder, service, EmbeddedTellings.MOST_BYTES, MOST_RUBBISH, FileState::read);
  }

  FolderLooking(Path folder, String service, long mostBytes, int mostRubbish, Reading reading) {
    this.folder = folder;
    this.service = service;
    this.place = folder.resolve(service);
    this.mostBytes = mostBytes;
    this.mostRubbish = mostRubbish;
    this.reading = reading;
  }

  /** Until the thread is interrupted. */
  void watch(Watcher watcher) throws IOException, InterruptedException {
    for (boolean first = true; ; first = false) {
      long began = Clock.micros();
      Changes changes = look(began);
      if (first) {
        watcher.all(changes.came);
      } else if (!changes.came.isEmpty() || !changes.went.isEmpty()) {
        watcher.change(changes.came, changes.went);
      }
      TimeUnit.MICROSECONDS.sleep(Math.max(EACH, PART * (Clock.micros() - began)));
    }
  }

  /**
   * Looks at the files, at a time in µs. Only records count for what a watcher holds: what is none
   * leaves nothing but its entry, and that only of so many.
   */
  Changes look(long now) throws IOException {
    looked.pass(now);
    Map<String, Seen> seen = new HashMap<>();
    int records = 0;
    long held = 0;
    int rubbish = 0;
    for (String name : names()) {
      Seen file = file(name);
      if (file == null) {
        continue;
      }
      if (file.isRecord() || file.lasting) {
        seen.put(name, file);
        records++;
        held += file.entry.id().length() + file.entry.data().length;
        Account.check(records, held, mostBytes);
      } else if (rubbish++ < mostRubbish) {
        seen.put(name, file);
      }
    }
    files = seen;
    Map<String, Entry> there = new HashMap<>();
    if (rubbish > mostRubbish) {
      String path = place.toString(); // which no id is
      String more = "more than " + mostRubbish + " files are no records";
      there.put(path, Entry.faulty(path, path, more));
    }
    seen.forEach(
        (name, file) -> {
          boolean over = file.lease && looked.micros() - file.at >= Folder.LEASE;
          if (!over && (!file.lease || !there.containsKey(file.entry.id()))) {
            there.put(file.entry.id(), file.entry);
          }
        });
    List<Entry> came = new ArrayList<>();
    there.forEach(
        (id, entry) -> {
          Entry before = told.get(id);
          if (before == null || !before.says(entry) || !before.from().equals(entry.from())) {
            came.add(entry);
          }
        });
    List<String> went = told.keySet().stream().filter(id -> !there.containsKey(id)).toList();
    told = there;
    return new Changes(came, went);
  }

  /** Those of the files of the service, in order. */
  private List<String> names() throws IOException {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(place)) {
      for (Path one : all) {
        String name = one.getFileName().toString();
        if (!name.startsWith(".")) {
          names.add(name);
        }
      }
    } catch (NoSuchFileException none) {
      FileState.of(folder); // which must be there
    } catch (DirectoryIteratorException fault) {
      throw fault.getCause();
    }
    Collections.sort(names);
    return names;
  }

  /** What is to be known of a file; null if it has gone. */
  private @Nullable Seen file(String name) {
    Path path = place.resolve(name);
    Seen before = files.get(name);
    FileState state = null;
    IOException refused = null;
    try {
      state = FileState.of(path);
    } catch (NoSuchFileException gone) {
      return null;
    } catch (IOException unknown) {
      refused = unknown;
    }
    long at = looked.micros();
    if (before != null && (state == null || state.equals(before.state))) {
      if (state != null && !before.unread) {
        return before;
      }
      // Reading again what has not changed renews no lease, nor does what cannot be looked at.
      state = before.state;
      at = before.at;
    }
    boolean lease = name.endsWith(Folder.LEASE_ENDS);
    String end = lease ? Folder.LEASE_ENDS : Folder.BY_HAND_ENDS;
    String id = name.endsWith(end) ? name.substring(0, name.length() - end.length()) : "";
    String from = path.toString();
    Entry entry = null;
    if (!Names.isName(id, Names.MOST_ID)) {
      // No id is a path, so that it takes no other's place.
      String want = "want a file ID.lease or ID.json with an id before that";
      entry = Entry.faulty(from, from, want);
      refused = null;
    } else if (refused == null && state != null) {
      try {
        entry = read(id, path, state, before);
      } catch (IOException unreadable) {
        refused = unreadable;
      }
    }
    if (entry == null) {
      entry = Entry.faulty(id, from, refused == null ? "" : RegistryException.spelled(refused));
    }
    boolean lasting =
        entry.fault() != null && before != null && (before.isRecord() || before.lasting);
    return new Seen(state, at, entry, lease, lasting, refused != null);
  }

  /** Reads a file. Of what is no record the bytes are not kept. */
  private Entry read(String id, Path path, FileState state, @Nullable Seen before)
      throws IOException {
    String from = path.toString();
    if (!state.regular()) {
      return Entry.faulty(id, from, "want a file, not a folder or the like");
    }
    byte[] data = reading.read(path, RecordWriter.MOST_RECORD + 1);
    if (data.length > RecordWriter.MOST_RECORD) {
      return Entry.faulty(id, from, RecordWriter.tooLong(Math.max(state.size(), data.length)));
    }
    if (before != null && before.isRecord() && Arrays.equals(before.entry.data(), data)) {
      return before.entry;
    }
    return parsed(id, data, from);
  }

  private Entry parsed(String id, byte[] data, String from) {
    try {
      ServiceRecord.parseAt(service, id, data);
      return Entry.of(id, data, from);
    } catch (InvalidRecordException invalid) {
      return Entry.faulty(id, from, String.valueOf(invalid.getMessage()), digest(data));
    }
  }

  private static byte[] digest(byte[] data) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(data);
    } catch (NoSuchAlgorithmException impossible) { // every platform has it
      throw new AssertionError(impossible);
    }
  }
}
