package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class FolderTest {
  private static final long SECOND = 1_000_000; // µs

  @TempDir Path within;
  private Path folder;
  private FolderLooking looking;
  private long now = 5 * SECOND;

  @BeforeEach
  void begin() throws IOException {
    folder = Files.createDirectory(within.resolve("registry"));
    looking = new FolderLooking(folder, "users");
  }

  private Path at(String name) {
    return folder.resolve("users").resolve(name);
  }

  private void put(String name, String text) throws IOException {
    Files.createDirectories(folder.resolve("users"));
    Path beside = within.resolve("beside");
    Files.writeString(beside, text);
    Files.move(beside, at(name), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Puts a record of a version. */
  private void putVersion(String name, String version) throws IOException {
    String id = name.replaceFirst("[.](lease|json)$", "").replaceFirst("^[.]", "");
    put(name, version(id, version));
  }

  static String version(String id, String version) {
    ServiceRecord.Builder record = ServiceRecord.builder("users", id, "a:1");
    return RegistryVectors.text(record.version(version).build().toBytes());
  }

  /** What looks tell, each second for a while. */
  private String after(int seconds) {
    List<String> told = new ArrayList<>();
    for (int each = 0; each <= seconds; each++) {
      now += each > 0 ? SECOND : 0;
      try {
        FolderLooking.Changes changes = looking.look(now);
        for (Entry one : changes.came()) {
          String text = one.fault() == null ? ServiceRecord.parse(one.data()).version() : "rubbish";
          told.add("+" + one.id() + " " + text);
        }
        changes.went().forEach(id -> told.add("-" + id));
      } catch (IOException fault) {
        told.add("failed");
      }
    }
    Collections.sort(told);
    return String.join(", ", told);
  }

  @Test
  void aFileThatIsGoneWhenItIsReadIsNotThere() {
    assertThrows(NoSuchFileException.class, () -> FileState.read(at("a.json"), 1));
  }

  @Test
  void aWatcherFollowsFiles() throws IOException {
    assertEquals("", after(0));
    putVersion("a.json", "1");
    putVersion("b.lease", "2");
    putVersion(".hidden", "3");
    assertEquals("+a 1, +b 2", after(0));
    putVersion("a.json", "4");
    assertEquals("+a 4", after(0));
    putVersion("b.json", "by hand");
    assertEquals("+b by hand", after(0));
    Files.delete(at("b.json"));
    assertEquals("+b 2", after(0));
    for (String name : List.of("a.json", "b.lease", ".hidden")) {
      Files.delete(at(name));
    }
    Files.delete(folder.resolve("users"));
    assertEquals("-a, -b", after(0));
    Files.delete(folder);
    assertEquals("failed", after(0));
    Files.createDirectory(folder);
  }

  @Test
  void aLeaseEndsUnlessItIsRenewed() throws IOException {
    putVersion("a.lease", "1");
    putVersion("b.json", "2");
    assertEquals("+a 1, +b 2", after(14));
    putVersion("a.lease", "1"); // another file, with the same bytes
    assertEquals("", after(0));
    assertEquals("", after(14));
    assertEquals("-a", after(1));
    assertEquals("", after(3_600));
    putVersion("a.lease", "1");
    assertEquals("+a 1", after(0));
  }

  @Test
  void aLeaseIsNotMeasuredWhileNobodyLooks() throws IOException {
    putVersion("a.lease", "1");
    assertEquals("+a 1", after(0));
    now += 3_600 * SECOND; // the process was stopped
    assertEquals("", after(14));
    assertEquals("-a", after(1));
  }

  @Test
  void whatIsNoRecordIsTold() throws Exception {
    put("notes.txt", "");
    put("-.json", "");
    put("long.json", "x".repeat(16_391));
    Files.createDirectory(at("folder.json"));
    Process pipe = new ProcessBuilder("mkfifo", at("pipe.json").toString()).start();
    assertEquals(0, pipe.waitFor());
    Files.createSymbolicLink(at("link.json"), at("nowhere"));
    Map<String, String> told = new TreeMap<>();
    for (Entry one : looking.look(now).came()) {
      told.put(Path.of(one.from()).getFileName().toString(), one.fault());
    }
    assertEquals(
        new TreeMap<>(
            Map.of(
                "notes.txt", "want a file ID.lease or ID.json with an id before that",
                "-.json", "want a file ID.lease or ID.json with an id before that",
                "long.json", "record of 16391 bytes, at most 16384",
                "folder.json", "want a file, not a folder or the like",
                "pipe.json", "want a file, not a folder or the like")),
        told);
  }

  private static Written instance(String id) {
    return new Written(ServiceRecord.builder("users", id, id + ".example:1").build());
  }

  private List<String> names() throws IOException {
    try (Stream<Path> all = Files.list(folder.resolve("users"))) {
      return all.map(one -> one.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void whatWasLeftBehindIsRemoved() throws IOException {
    FolderKeeping keeping = new FolderKeeping(folder, List.of(instance("a")), Set.of(), Set.of());
    for (String name : List.of("dead.lease", ".dead.1.tmp", "by-hand.json", ".other")) {
      put(name, "x");
    }
    keeping.clean(now);
    keeping.clean(now + 299 * SECOND);
    assertTrue(names().contains("dead.lease"));
    put("renewed.lease", "x");
    keeping.clean(now + 300 * SECOND);
    assertEquals(List.of(".other", "by-hand.json", "renewed.lease"), names());
  }

  @Test
  void itIsKeptUntilItIsWithdrawn() throws Exception {
    CountDownLatch published = new CountDownLatch(1);
    CompletableFuture<Void> kept = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                new Folder(folder).keep(List.of(instance("a")), published::countDown);
                kept.complete(null);
              } catch (Throwable fault) {
                kept.completeExceptionally(fault);
              }
            });
    thread.start();
    published.await();
    assertArrayEquals(instance("a").data(), Files.readAllBytes(at("a.lease")));
    Files.delete(at("a.lease"));
    while (!Files.exists(at("a.lease"))) { // until the test's time is over
      Thread.sleep(20);
    }
    thread.interrupt();
    kept.get();
    assertEquals(List.of(), names());
  }

  @Test
  void onlyItsOwnIsWithdrawn() throws Exception {
    new Folder(folder)
        .keep(
            List.of(instance("a")),
            () -> {
              try {
                put("a.lease", "of another");
              } catch (IOException fault) {
                throw new AssertionError(fault);
              }
              Thread.currentThread().interrupt();
            });
    assertEquals("of another", Files.readString(at("a.lease")));
  }

  @Test
  void aFolderThatIsNotThereIsAFailure() {
    Folder none = new Folder(folder.resolve("none"));
    assertThrows(IOException.class, () -> none.keep(List.of(instance("a")), () -> {}));
  }
}
