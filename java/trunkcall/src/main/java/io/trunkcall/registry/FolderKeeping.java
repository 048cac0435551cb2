package io.trunkcall.registry;

import io.trunkcall.internal.transport.Clock;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
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
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Publishes records in a folder (registry.md 7.2, 7.5). Used by one thread. */
final class FolderKeeping {
  private static final int CLEANING = 12; // renewals between two cleanings: a minute
  private static final long UNCLEAN = 300_000_000; // µs without a change

  /** A file that may have been left behind, unchanged since. */
  private record Unclean(FileState state, long since) {}

  private final Path folder;
  private final List<Written> records;
  private Map<Path, Unclean> seen = new HashMap<>();

  FolderKeeping(Path folder, List<Written> records) {
    this.folder = folder;
    this.records = records;
  }

  /** Until the thread is interrupted. */
  void keep(Runnable published) throws IOException {
    FileState.of(folder); // which must be there
    for (int times = 0; ; times++) {
      for (Written one : records) {
        write(one);
      }
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

  /** Writes a file beside that of a record, and renames it. */
  private void write(Written one) throws IOException {
    Path path = path(one);
    Path place = folder.resolve(one.record().service());
    try {
      Files.createDirectory(place);
    } catch (FileAlreadyExistsException there) {
      // It has been made by whoever was first.
    }
    replace(path, "." + one.record().id() + ".", one.data(), "rw-r--r--");
  }

  /**
   * Writes a file beside a path, whose name begins so, and renames it to that. {@code permissions}
   * count where the system has them.
   */
  static void replace(Path path, String begin, byte[] data, String permissions) throws IOException {
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
      Files.move(made, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
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
        byte[] there = FileState.read(path, RecordWriter.MOST_RECORD + 1);
        if (Arrays.equals(there, one.data())) {
          Files.deleteIfExists(path);
        }
      } catch (FileNotFoundException | NoSuchFileException gone) {
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
    Map<Path, Unclean> there = new HashMap<>();
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

  private void look(Path path, long now, Map<Path, Unclean> there) {
    try {
      FileState state = FileState.of(path, LinkOption.NOFOLLOW_LINKS);
      Unclean before = seen.get(path);
      if (!state.regular()) {
        return;
      }
      if (before == null || !before.state.equals(state)) {
        there.put(path, new Unclean(state, now));
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
