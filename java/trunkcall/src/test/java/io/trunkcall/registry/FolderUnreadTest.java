package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files that the system does not let be looked at or read (registry.md 7.3, 7.4). */
@Timeout(120)
final class FolderUnreadTest {
  private static final long SECOND = 1_000_000; // µs

  @TempDir Path within;
  private Path place;
  private Path elsewhere;
  private FolderLooking looking;
  private boolean full; // no file can be opened
  private long now = 5 * SECOND;

  @BeforeEach
  void begin() throws IOException {
    Path folder = Files.createDirectory(within.resolve("registry"));
    place = Files.createDirectory(folder.resolve("users"));
    elsewhere = Files.createDirectory(within.resolve("elsewhere"));
    looking = new FolderLooking(folder, "users", 1 << 20, 100, this::read);
  }

  private byte[] read(Path path, int most) throws IOException {
    if (full) {
      throw new FileNotFoundException(path + " (Too many open files)");
    }
    return FileState.read(path, most);
  }

  private void put(Path path, String id, String version) throws IOException {
    Path beside = Files.writeString(within.resolve("beside"), FolderTest.version(id, version));
    Files.move(beside, path, StandardCopyOption.ATOMIC_MOVE);
  }

  /** What looks tell, now and each second for a while. */
  private List<String> after(int seconds) throws IOException {
    List<String> told = new ArrayList<>();
    for (int each = 0; each <= seconds; each++) {
      now += each > 0 ? SECOND : 0;
      FolderLooking.Changes changes = looking.look(now);
      for (Entry one : changes.came()) {
        boolean good = one.fault() == null;
        String text = good ? ServiceRecord.parse(one.data()).version() : "rubbish";
        told.add("+" + one.id() + " " + text);
      }
      changes.went().forEach(id -> told.add("-" + id));
    }
    Collections.sort(told);
    return told;
  }

  /**
   * Until it is read it counts as it was. What is read again has not changed, for its lease,
   * however late it is read.
   */
  @Test
  void whatCouldNotBeReadIsReadAgain() throws IOException {
    full = true;
    put(place.resolve("a.json"), "a", "1");
    put(place.resolve("b.lease"), "b", "1");
    assertEquals(List.of("+a rubbish", "+b rubbish"), after(0));
    assertEquals(List.of(), after(0));
    full = false;
    assertEquals(List.of("+a 1", "+b 1"), after(0));
    put(place.resolve("b.lease"), "b", "2");
    full = true;
    assertEquals(List.of("+b rubbish"), after(9));
    full = false;
    assertEquals(List.of("+b 2"), after(0));
    assertEquals(List.of(), after(4));
    assertEquals(List.of("-b"), after(4));
  }

  /** Nobody knows whether it is renewed meanwhile. */
  @Test
  void aFileThatCannotBeLookedAtRenewsNoLease() throws IOException {
    put(elsewhere.resolve("a.lease"), "a", "1");
    put(place.resolve("b.json"), "b", "1");
    Files.createSymbolicLink(place.resolve("a.lease"), elsewhere.resolve("a.lease"));
    assertEquals(List.of("+a 1", "+b 1"), after(0));
    away();
    assertEquals(List.of("+a rubbish"), after(6));
    back();
    assertEquals(List.of("+a 1"), after(0)); // it has not changed
    away();
    assertEquals(List.of("+a rubbish"), after(8));
    assertEquals(List.of("-a"), after(2));
    back();
    assertEquals(List.of(), after(1));
    put(elsewhere.resolve("a.lease"), "a", "1");
    assertEquals(List.of("+a 1"), after(0));
  }

  /** Puts a loop of links in the place of a folder, which not even root gets through. */
  private void away() throws IOException {
    Files.move(elsewhere, within.resolve("aside"));
    Files.createSymbolicLink(elsewhere, elsewhere);
  }

  private void back() throws IOException {
    Files.delete(elsewhere);
    Files.move(within.resolve("aside"), elsewhere);
  }
}
