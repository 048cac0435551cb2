package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Of two live servers under one key the one that was there stays (registry.md 7.6). */
@Timeout(120)
final class FolderSharedTest {
  private static final long SECOND = 1_000_000; // µs
  private static final String TAKEN = "users/a: another server is published under this id, at ";

  @TempDir Path folder;
  private final Set<FolderKeeping.Yielded> yielded = new HashSet<>();
  private final Set<FolderKeeping.Yielded> held = new HashSet<>();

  private static Written at(String address) {
    return new Written(ServiceRecord.builder("users", "a", address).build());
  }

  private Path lease() {
    return folder.resolve("users").resolve("a.lease");
  }

  private void put(byte[] data) throws IOException {
    Path place = Files.createDirectories(folder.resolve("users"));
    Files.move(Files.write(place.resolve(".new"), data), lease(), StandardCopyOption.ATOMIC_MOVE);
  }

  private FolderKeeping keeping(Written one, Set<FolderKeeping.Yielded> left) {
    return new FolderKeeping(folder, List.of(one), left, held);
  }

  private void assertStands(Written one) throws IOException {
    assertArrayEquals(one.data(), Files.readAllBytes(lease()));
  }

  private static void assertTaken(FolderKeeping newcomer, long now, String by) {
    Exception fault = assertThrows(RegistryException.class, () -> newcomer.write(now));
    assertEquals(TAKEN + by, fault.getMessage());
  }

  @Test
  void theFirstOfTwoServersUnderAKeyStays() throws Exception {
    Written ours = at("a:1");
    Written other = at("b:1");
    FolderKeeping holder = keeping(ours, Set.of());
    FolderKeeping newcomer = keeping(other, yielded);
    holder.write(0);
    newcomer.write(SECOND);
    assertStands(other); // nobody can tell yet whether what was there is alive
    try (Logged log = new Logged()) {
      holder.write(5 * SECOND);
      log.await(TAKEN + "b:1");
    }
    assertStands(ours);
    assertTaken(newcomer, 6 * SECOND, "a:1");
    assertStands(ours);

    FolderKeeping again = keeping(other, yielded);
    for (int second = 10; second < 60; second += 5) {
      holder.write(second * SECOND);
      assertFalse(again.isFree(second * SECOND));
    }
    assertFalse(again.isFree(3_660 * SECOND)); // nobody looked meanwhile
    for (int second = 1; second < 15; second++) {
      assertFalse(again.isFree((3_660 + second) * SECOND), "after " + second);
    }
    assertTrue(again.isFree(3_675 * SECOND));
    again.write(3_675 * SECOND);
    assertStands(other);
  }

  @Test
  void aNewcomerWaitsNoLongerThanTheFileIsThere() throws Exception {
    put(at("left:1").data());
    FolderKeeping newcomer = keeping(at("b:1"), yielded);
    newcomer.write(0);
    put(at("a:1").data());
    assertTaken(newcomer, 5 * SECOND, "a:1");
    assertFalse(newcomer.isFree(5 * SECOND));
    Files.delete(lease());
    assertTrue(newcomer.isFree(5 * SECOND));
    assertEquals(Set.of(), yielded);
  }

  @Test
  void whatWasLeftWithOtherBytesIsFree() throws Exception {
    put(at("left:1").data());
    FolderKeeping newcomer = keeping(at("b:1"), yielded);
    newcomer.write(0);
    put(at("a:1").data());
    assertTaken(newcomer, 5 * SECOND, "a:1");
    assertTrue(keeping(at("c:1"), yielded).isFree(5 * SECOND)); // that record was never refused
  }

  @Test
  void aFileThatHasBeenItsOwnForALeaseIsHeld() throws Exception {
    Written ours = at("a:1");
    put(at("left:1").data()); // by who was killed
    FolderKeeping keeping = keeping(ours, yielded);
    for (int second = 0; second <= 15; second += 5) {
      keeping.write(second * SECOND);
    }
    put("rubbish".getBytes(StandardCharsets.UTF_8));
    keeping.write(16 * SECOND);
    assertStands(ours);
    put(at("b:1").data());
    try (Logged log = new Logged()) {
      keeping.write(17 * SECOND);
      log.await(TAKEN + "b:1");
    }
    assertStands(ours);
  }

  @Test
  void whatCannotBeLookedAtIsOverwritten() throws Exception {
    Written ours = at("a:1");
    Files.createDirectories(folder.resolve("users"));
    FolderKeeping keeping = keeping(ours, yielded);
    for (int second = 0; second <= 5; second += 5) {
      Files.deleteIfExists(lease());
      Files.createSymbolicLink(lease(), lease()); // which leads nowhere
      keeping.write(second * SECOND);
      assertStands(ours);
    }
    put(at("b:1").data());
    assertTaken(keeping, 10 * SECOND, "b:1"); // nobody can tell what was there first
  }

  @Test
  void whoHeldAKeyHoldsItAfterAFailure() throws Exception {
    Written ours = at("a:1");
    Written other = at("b:1");
    FolderKeeping failing = keeping(ours, yielded);
    failing.write(0);
    Path away = Files.move(folder.resolve("users"), folder.resolve("away"));
    Files.createFile(folder.resolve("users"));
    assertThrows(IOException.class, () -> failing.write(5 * SECOND));
    Files.delete(folder.resolve("users"));
    Files.move(away, folder.resolve("users"));

    FolderKeeping again = keeping(ours, yielded);
    again.write(6 * SECOND);
    put(other.data());
    try (Logged log = new Logged()) {
      again.write(11 * SECOND);
      log.await(TAKEN + "b:1");
    }
    assertStands(ours);

    FolderKeeping neverHeld = keeping(ours, yielded);
    neverHeld.write(20 * SECOND);
    put(other.data());
    assertTaken(neverHeld, 25 * SECOND, "b:1");

    held.add(new FolderKeeping.Yielded(lease(), new String(ours.data(), StandardCharsets.UTF_8)));
    FolderKeeping late = keeping(ours, yielded); // another's bytes are there
    late.write(30 * SECOND);
    put(other.data());
    assertTaken(late, 35 * SECOND, "b:1");
  }

  @Test
  void ofRecordsOfWhichOneCannotBeWrittenNoneStands() throws IOException {
    Written users = at("a:1");
    Written orders = new Written(ServiceRecord.builder("orders", "a", "a:1").build());
    Path place = folder.resolve("orders");
    for (boolean renaming : new boolean[] {false, true}) {
      if (renaming) {
        Files.delete(place);
        Files.createDirectories(place.resolve("a.lease").resolve("within"));
      } else {
        Files.createFile(place);
      }
      FolderKeeping keeping = new FolderKeeping(folder, List.of(users, orders), yielded, held);
      assertThrows(IOException.class, () -> keeping.write(0));
      assertEquals(List.of(), names(folder.resolve("users")));
    }
    assertEquals(List.of("a.lease"), names(place));
  }

  private static List<String> names(Path place) throws IOException {
    try (Stream<Path> there = Files.list(place)) {
      return there.map(one -> one.getFileName().toString()).toList();
    }
  }

  @Test
  void aFolderRemembersWhatItLeftToOthers() throws Exception {
    put(at("left:1").data());
    Folder store = new Folder(folder);
    Written one = at("b:1");
    Exception fault =
        assertThrows(
            RegistryException.class,
            () ->
                store.keep(
                    List.of(one),
                    () -> {
                      try {
                        put(at("a:1").data());
                      } catch (IOException failed) {
                        throw new AssertionError(failed);
                      }
                    }));
    assertEquals(TAKEN + "a:1", fault.getMessage());
    assertStands(at("a:1"));

    CountDownLatch published = new CountDownLatch(1);
    CompletableFuture<Void> kept = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                store.keep(List.of(one), published::countDown);
                kept.complete(null);
              } catch (Throwable failed) {
                kept.completeExceptionally(failed);
              }
            });
    thread.start();
    while (thread.getState() != Thread.State.TIMED_WAITING) { // as it is between two looks
      Thread.sleep(5);
    }
    assertEquals(1, published.getCount());
    assertStands(at("a:1"));
    Files.delete(lease());
    published.await();
    assertStands(one);
    thread.interrupt();
    kept.get();
  }

  @Test
  void whoWaitsEndsWhenItIsAsked() throws Exception {
    put(at("a:1").data());
    Set<FolderKeeping.Yielded> left = new HashSet<>();
    left.add(
        new FolderKeeping.Yielded(lease(), new String(at("b:1").data(), StandardCharsets.UTF_8)));
    Thread.currentThread().interrupt();
    keeping(at("b:1"), left).keep(() -> {});
    assertStands(at("a:1"));
  }

  @Test
  void whoHasNotRenewedForALeaseYields() throws Exception {
    Written ours = at("a:1");
    Written other = at("b:1");
    FolderKeeping first = keeping(ours, yielded);
    first.write(0);
    first.write(14 * SECOND);
    put(other.data());
    first.write(28 * SECOND); // in time
    assertStands(ours);

    FolderKeeping second = keeping(other, Set.of());
    second.write(60 * SECOND);
    second.write(75 * SECOND);
    assertTaken(first, 76 * SECOND, "b:1");
    assertStands(other);
  }
}
