package io.trunkcall.registry;

import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the system says of a file, by which a change of it is seen without reading it.
 *
 * @param key which file it is, where the system says that
 * @param permissions empty where the system has none
 */
record FileState(
    @Nullable Object key,
    FileTime modified,
    long size,
    boolean regular,
    Set<PosixFilePermission> permissions) {

  /** Asks the system. Throws NoSuchFileException if there is no file. */
  static FileState of(Path path, LinkOption... links) throws IOException {
    PosixFileAttributeView posix =
        Files.getFileAttributeView(path, PosixFileAttributeView.class, links);
    if (posix != null) {
      PosixFileAttributes found = posix.readAttributes();
      return of(found, found.permissions());
    }
    return of(Files.readAttributes(path, BasicFileAttributes.class, links), Set.of());
  }

  private static FileState of(BasicFileAttributes found, Set<PosixFilePermission> permissions) {
    return new FileState(
        found.fileKey(),
        found.lastModifiedTime(),
        found.size(),
        found.isRegularFile(),
        permissions);
  }

  /** The first bytes of a file, so many at most. Throws NoSuchFileException if there is no file. */
  static byte[] read(Path path, int most) throws IOException {
    // Not by channels, which an interrupted thread would close.
    try (FileInputStream file = new FileInputStream(path.toFile())) {
      return file.readNBytes(most);
    } catch (FileNotFoundException unread) { // which does not say whether it is there
      of(path);
      throw unread;
    }
  }
}
