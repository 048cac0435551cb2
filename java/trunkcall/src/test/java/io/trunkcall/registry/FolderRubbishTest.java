package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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

/** What a watcher of a folder holds (registry.md 7.3). */
@Timeout(120)
final class FolderRubbishTest {
  private static final int LONGEST = 16_384; // a record
  private static final int MOST = 20; // files of rubbish

  @TempDir Path within;
  private Path folder;
  private FolderLooking looking;

  @BeforeEach
  void begin() throws IOException {
    folder = Files.createDirectory(within.resolve("registry"));
    Files.createDirectory(folder.resolve("users"));
    looking = new FolderLooking(folder, "users", 4 * LONGEST, MOST, FileState::read);
  }

  private Path at(String name) {
    return folder.resolve("users").resolve(name);
  }

  private void put(String name, String text) throws IOException {
    Path beside = Files.writeString(within.resolve("beside"), text);
    Files.move(beside, at(name), StandardCopyOption.ATOMIC_MOVE);
  }

  /** What a look tells: the bytes of records, and files with why they are none. */
  private List<String> look() throws IOException {
    FolderLooking.Changes changes = looking.look(5_000_000);
    assertEquals(List.of(), changes.went());
    List<String> told = new ArrayList<>();
    for (Entry one : changes.came()) {
      String name = Path.of(one.from()).getFileName().toString();
      boolean isRecord = one.fault() == null;
      told.add(name + ": " + (isRecord ? RegistryVectors.text(one.data()).strip() : one.fault()));
      assertTrue(isRecord || one.data().length == 0, "bytes of rubbish are held");
    }
    Collections.sort(told);
    return told;
  }

  private static String version(String version) {
    return FolderTest.version("zz", version);
  }

  private static String longest(String id) {
    String data = FolderTest.version(id, "1");
    return data + " ".repeat(LONGEST - data.length());
  }

  @Test
  void recordsAreHeldNoMoreThanOfOtherRegistries() throws IOException {
    for (String id : List.of("a", "b", "c")) {
      put(id + ".json", longest(id));
    }
    assertEquals(3, look().size());
    put("d.lease", longest("d"));
    RegistryException full = assertThrows(RegistryException.class, this::look);
    assertEquals("4 entries of 65540 bytes, at most 100000 of 65536", full.getMessage());
  }

  @Test
  void rubbishThatWasARecordKeepsItsPlace() throws IOException {
    put("zz.json", version("1"));
    look();
    for (int i = 0; i < MOST; i++) {
      put(String.format("%06d.json", i), "{");
    }
    put("zz.json", "{");
    // It does not count for the rubbish, and is told of although it is the last in order.
    List<String> told = look();
    assertEquals(MOST + 1, told.size());
    assertTrue(told.get(MOST).startsWith("zz.json: "), () -> told.get(MOST));
  }

  /**
   * However much is no record in a folder: it is told of once, nothing of it is held, and records
   * are found and followed. One that becomes rubbish counts on as it was.
   */
  @Test
  void rubbishHoldsUpNoRecords() throws IOException {
    put("zz.json", version("1"));
    Path rubbish = Files.write(within.resolve("rubbish"), new byte[LONGEST]);
    for (int i = 0; i < MOST + 5; i++) {
      Files.createSymbolicLink(at(String.format("%06d.json", i)), rubbish);
    }
    List<String> told = look();
    assertEquals(MOST + 2, told.size());
    assertTrue(told.get(MOST - 1).startsWith("000019.json: not a JSON object"), told::toString);
    assertEquals(
        List.of("users: more than 20 files are no records", "zz.json: " + version("1")),
        told.subList(MOST, MOST + 2));
    assertEquals(List.of(), look());
    put("zz.json", version("2"));
    assertEquals(List.of("zz.json: " + version("2")), look());
    for (String text : List.of("{1", "{2")) { // for which the same is told
      put("zz.json", text);
      List<String> left = look();
      assertEquals(1, left.size());
      assertTrue(left.get(0).startsWith("zz.json: not a JSON object"), left::toString);
      put("zz.json", text); // another file with the same bytes
      assertEquals(List.of(), look());
    }
    put("zz.json", version("3"));
    assertEquals(List.of("zz.json: " + version("3")), look());
  }

  @Test
  void tenThousandFilesOfRubbishAreKeptInMind() {
    assertEquals(10_000, FolderLooking.MOST_RUBBISH);
  }
}
