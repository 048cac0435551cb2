package io.trunkcall.registry;

import io.trunkcall.internal.transport.Clock;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Publishes records in a folder (registry.md 7.2, 7.5, 7.6). Used by one thread. */
final class FolderKeeping {
  private static final int CLEANING = 12; // renewals between two cleanings: a minute
  private static final long UNCLEAN = 300_000_000; // µs without a change
  private static final long HELD = Long.MIN_VALUE / 2; // longer than any lease

  /** A file that somebody else has written, unchanged since. */
  private record Unchanged(FileState state, long since) {}

  /** A record, by its file and its bytes. */
  record Yielded(Path path, String text) {}

  private final Path folder;
  private final List<Written> records;
  private final Set<Yielded> yielded;
  private final Set<Yielded> held;
  private final Map<Path, Long> own = new HashMap<>(); // since when a file has been its own
  private final Map<Path, Long> renewed = new HashMap<>(); // when a file was last written
  private final Map<Path, Unchanged> others = new HashMap<>(); // by the clock of `looked`
  private final LookedTime looked = new LookedTime();
  private Map<Path, Unchanged> seen = new HashMap<>(); // what may have been left behind

  /**
   * Keeps records.
   *
   * @param yielded what was left to other servers, which outlives this and may be used by others
   * @param held whose keys were held when keeping it failed; likewise
   */
  FolderKeeping(Path folder, List<Written> records, Set<Yielded> yielded, Set<Yielded> held) {
    this.folder = folder;
    this.records = records;
    this.yielded = yielded;
    this.held = held;
  }

  /** Until the thread is interrupted. */
  void keep(Runnable published) throws IOException {
    FileState.of(folder); // which must be there
    try {
      while (!isFree(Clock.micros())) {
        TimeUnit.MICROSECONDS.sleep(Folder.YIELDED);
      }
    } catch (InterruptedException end) {
      return; // nothing was written
    }
    for (int times = 0; ; times++) {
      write(Clock.micros());
      if (times == 0) {
        published.run();
      } else if (times % CLEANING == 0) {
        clean(Clock.micros());
      }
      try {
        TimeUnit.MICROSECONDS.sleep(Folder.RENEW);
      } catch (InterruptedException end) {
        withdraw();
        return;
      }
    }
  }

  private Path path(Written one) {
    return folder.resolve(one.record().service()).resolve(one.record().id() + Folder.LEASE_ENDS);
  }

  private Yielded yielded(Written one) {
    return new Yielded(path(one), new String(one.data(), StandardCharsets.UTF_8));
  }

  /**
   * Whether each file that was left to another server may be written: it is gone, or its lease is
   * over. The time is in µs, as all here.
   */
  boolean isFree(long now) {
    looked.pass(now);
    boolean free = true;
    for (Written one : records) {
      Yielded left = yielded(one);
      if (yielded.contains(left)) {
        if (counts(left.path)) {
          free = false;
        } else {
          yielded.remove(left);
        }
      }
    }
    return free;
  }

  private boolean counts(Path path) {
    FileState state;
    try {
      state = FileState.of(path);
    } catch (IOException gone) {
      return false;
    }
    Unchanged before = others.get(path);
    if (before == null || !before.state.equals(state)) {
      others.put(path, new Unchanged(state, looked.micros()));
      return true;
    }
    return looked.micros() - before.since < Folder.LEASE;
  }

  /**
   * Writes for each record a file beside its own, and renames these once all are written: where one
   * cannot be, none is renewed.
   *
   * @throws RegistryException where another server was there before (registry.md 7.6)
   */
  void write(long now) throws IOException {
    try {
      writeAll(now);
    } catch (IOException | RuntimeException failed) {
      for (Written one : records) {
        if (isHeld(path(one), now)) {
          held.add(yielded(one));
        }
      }
      throw failed;
    }
  }

  /** Whether a key is held: not of one who has just come, or whose own lease was over. */
  private boolean isHeld(Path path, long now) {
    Long since = own.get(path);
    return since != null
        && now - since >= Folder.LEASE
        && now - renewed.getOrDefault(path, now) < Folder.LEASE;
  }

  private void writeAll(long now) throws IOException {
    boolean first = renewed.isEmpty();
    Map<Path, Path> beside = new LinkedHashMap<>(); // by what they are renamed to
    try {
      for (Written one : records) {
        Path path = path(one);
        look(one, path, now);
        try {
          Files.createDirectory(folder.resolve(one.record().service()));
        } catch (FileAlreadyExistsException there) {
          // It has been made by whoever was first.
        }
        beside.put(path, beside(path, "." + one.record().id() + ".", one.data(), "rw-r--r--"));
      }
      for (Map.Entry<Path, Path> one : beside.entrySet()) {
        rename(one.getValue(), one.getKey());
        renewed.put(one.getKey(), now);
      }
    } catch (IOException | RuntimeException fault) {
      try {
        for (Path one : beside.values()) {
          Files.deleteIfExists(one); // unless it was renamed
        }
        if (first) { // else what stands there was published, and counts until its lease is over
          withdraw();
        }
      } catch (IOException left) {
        fault.addSuppressed(left);
      }
      throw fault;
    }
  }

  /** Looks at what is to be written over. */
  private void look(Written one, Path path, long now) throws RegistryException {
    boolean there = true;
    byte[] data = new byte[0];
    try {
      if (FileState.of(path).regular()) {
        data = FileState.read(path, RecordWriter.MOST_RECORD + 1);
      }
    } catch (NoSuchFileException none) {
      there = false;
    } catch (IOException unreadable) {
      // It is rubbish.
    }
    if (!own.containsKey(path)) {
      boolean holds = held.remove(yielded(one)) && Arrays.equals(data, one.data());
      own.put(path, holds || !there ? HELD : now);
      return;
    }
    try {
      one.checkReplaces(data);
    } catch (RegistryException taken) {
      if (!isHeld(path, now)) {
        yielded.add(yielded(one));
        throw taken;
      }
      RegistryLog.warn(RegistryException.spelled(taken));
    }
  }

  /**
   * Writes a file beside a path, whose name begins so, and renames it to that. {@code permissions}
   * count where the system has them.
   */
  static void replace(Path path, String begin, byte[] data, String permissions) throws IOException {
    Path made = beside(path, begin, data, permissions);
    try {
      rename(made, path);
    } catch (IOException | RuntimeException fault) {
      Files.deleteIfExists(made);
      throw fault;
    }
  }

  private static void rename(Path from, Path to) throws IOException {
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** Writes a new file beside a path. */
  private static Path beside(Path path, String begin, byte[] data, String permissions)
      throws IOException {
    Path place = path.toAbsolutePath().getParent();
    Path made = Files.createTempFile(place, begin, Folder.UNFINISHED_ENDS);
    try {
      // Not by channels, which an interrupted thread would close.
      try (FileOutputStream to = new FileOutputStream(made.toFile())) {
        to.write(data);
      }
      PosixFileAttributeView posix = Files.getFileAttributeView(made, PosixFileAttributeView.class);
      if (posix != null) {
        posix.setPermissions(PosixFilePermissions.fromString(permissions));
      }
      return made;
    } catch (IOException | RuntimeException fault) {
      Files.deleteIfExists(made);
      throw fault;
    }
  }

  /** Removes the files that have what was written. */
  private void withdraw() throws IOException {
    IOException failed = null;
    for (Written one : records) {
      try {
        Path path = path(one);
        if (!renewed.containsKey(path)) {
          continue; // it is not there, or another's of the same bytes
        }
        byte[] there = FileState.read(path, RecordWriter.MOST_RECORD + 1);
        if (Arrays.equals(there, one.data())) {
          Files.deleteIfExists(path);
        }
      } catch (NoSuchFileException gone) {
        // Somebody else has removed it.
      } catch (IOException fault) {
        failed = fault;
      }
    }
    if (failed != null) {
      throw failed;
    }
  }

  /** Removes what others have left behind. What cannot be removed is theirs. */
  void clean(long now) {
    Map<Path, Unchanged> there = new HashMap<>();
    Set<Path> places = new LinkedHashSet<>();
    records.forEach(one -> places.add(folder.resolve(one.record().service())));
    for (Path place : places) {
      try (DirectoryStream<Path> all = Files.newDirectoryStream(place)) {
        for (Path one : all) {
          if (isLeftBehind(one.getFileName().toString())) {
            look(one, now, there);
          }
        }
      } catch (IOException | DirectoryIteratorException unreadable) {
        // Then there is nothing to be removed.
      }
    }
    seen = there;
  }

  private void look(Path path, long now, Map<Path, Unchanged> there) {
    try {
      FileState state = FileState.of(path, LinkOption.NOFOLLOW_LINKS);
      Unchanged before = seen.get(path);
      if (!state.regular()) {
        return;
      }
      if (before == null || !before.state.equals(state)) {
        there.put(path, new Unchanged(state, now));
      } else if (now - before.since >= UNCLEAN) {
        Files.deleteIfExists(path);
      } else {
        there.put(path, before);
      }
    } catch (IOException gone) {
      // Or it is somebody's who does not let it be removed.
    }
  }

  private static boolean isLeftBehind(String name) {
    return name.startsWith(".")
        ? name.endsWith(Folder.UNFINISHED_ENDS)
        : name.endsWith(Folder.LEASE_ENDS);
  }
}
