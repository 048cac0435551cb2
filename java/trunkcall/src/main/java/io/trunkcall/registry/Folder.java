package io.trunkcall.registry;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A registry in a folder, which must be there, for the processes of one machine (registry.md 7):
 * each instance has a file, {@code FOLDER/SERVICE/ID.lease}, which its server renews, or {@code
 * ID.json}, which is written by hand and counts until it is removed.
 */
public final class Folder implements Store {
  static final long LEASE = 15_000_000; // µs
  static final long RENEW = LEASE / 3;
  static final long YIELDED = 1_000_000; // µs between two looks at a file left to another server
  static final String LEASE_ENDS = ".lease";
  static final String BY_HAND_ENDS = ".json";
  static final String UNFINISHED_ENDS = ".tmp";

  private final Path path;
  private final Set<FolderKeeping.Yielded> yielded = ConcurrentHashMap.newKeySet();
  private final Set<FolderKeeping.Yielded> held = ConcurrentHashMap.newKeySet();

  /** The registry in a folder. */
  public Folder(Path path) {
    this.path = Objects.requireNonNull(path, "path");
  }

  @Override
  public void watch(String service, Watcher watcher) throws Exception {
    new FolderLooking(path, service).watch(watcher);
  }

  @Override
  public void keep(List<Written> records, Runnable published) throws Exception {
    new FolderKeeping(path, records, yielded, held).keep(published);
  }

  @Override
  public String toString() {
    return "file:" + path;
  }
}
