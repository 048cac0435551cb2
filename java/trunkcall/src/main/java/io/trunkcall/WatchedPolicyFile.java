package io.trunkcall;

import io.trunkcall.internal.policy.BadFileException;
import io.trunkcall.internal.policy.Fault;
import io.trunkcall.internal.policy.Holds;
import io.trunkcall.internal.policy.PolicyFile;
import io.trunkcall.internal.policy.Sources;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A policy file that is looked at every second (policy.md 5.6). {@link #current} is for any thread;
 * all else belongs to the thread that looks, once that has begun.
 */
final class WatchedPolicyFile {
  private static final long LOOK = 1; // seconds between two looks at a file
  private static final ScheduledThreadPoolExecutor THREAD = thread();

  private final Path path;
  private final String zone;
  private final Sources sources;
  private final Timers timers;
  private final Function<Holds, List<String>> lacks;
  private volatile Governance current;
  private @Nullable Stamp read; // the file as it was when it was last read
  private @Nullable Stamp seen; // as it was at the last look
  private String fault = ""; // why it was not taken at the last look, as it was told
  private @Nullable ScheduledFuture<?> watching; // guarded by this

  /** What tells whether a file has changed. */
  private record Stamp(FileTime changed, long size, @Nullable Object identity) {
    static Stamp of(Path path) throws IOException {
      BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class);
      return new Stamp(found.lastModifiedTime(), found.size(), found.fileKey());
    }
  }

  /**
   * Reads the file. {@code lacks} names what of it cannot be done. Throws IllegalArgumentException
   * with all faults of the file, or why it cannot be read.
   */
  WatchedPolicyFile(
      Path path, String zone, Sources sources, Timers timers, Function<Holds, List<String>> lacks) {
    this.path = path;
    this.zone = zone;
    this.sources = sources;
    this.timers = timers;
    this.lacks = lacks;
    try {
      read = Stamp.of(path);
      seen = read;
      current = taken(bytes(), null);
    } catch (IOException | BadFileException e) {
      throw new IllegalArgumentException("option policyFile: " + path + ": " + told(e), e);
    }
  }

  /** Daemon, and gone when no file is looked at. */
  private static ScheduledThreadPoolExecutor thread() {
    ScheduledThreadPoolExecutor made =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread thread = new Thread(work, "trunkcall-policy-files");
              thread.setDaemon(true);
              return thread;
            });
    made.setKeepAliveTime(10 * LOOK, TimeUnit.SECONDS);
    made.allowCoreThreadTimeOut(true);
    made.setRemoveOnCancelPolicy(true);
    return made;
  }

  /** What holds for calls that begin now. */
  Governance current() {
    return current;
  }

  /** Has the file watched, and its changes told. A second time does nothing. */
  synchronized void watch(Told told) {
    if (watching == null) {
      watching =
          THREAD.scheduleWithFixedDelay(() -> lookSafely(told), LOOK, LOOK, TimeUnit.SECONDS);
    }
  }

  /** It is watched no more. */
  synchronized void end() {
    ScheduledFuture<?> task = watching;
    if (task != null) {
      task.cancel(false);
    }
  }

  private void lookSafely(Told told) {
    try {
      look(told);
    } catch (Throwable e) { // or it would be looked at no more
      Journal.LOGGER.log(System.Logger.Level.ERROR, "policy file " + path, e);
    }
  }

  /**
   * Reads the file if it has changed, and has stayed as it is since the last look and until it was
   * read: one that is being written is left alone.
   */
  void look(Told told) {
    try {
      Stamp now = Stamp.of(path);
      boolean stays = now.equals(seen);
      seen = now;
      if (!stays || now.equals(read)) {
        return;
      }
      byte[] data = bytes();
      if (!Stamp.of(path).equals(now)) {
        return;
      }
      read = now; // it will be no other before it changes
      current = taken(data, current);
      fault = "";
      Journal.LOGGER.log(System.Logger.Level.INFO, "policy file taken: " + path);
      told.policyTaken(path.toString());
    } catch (IOException e) {
      read = null;
      seen = null;
      refused(told(e), told);
    } catch (BadFileException e) {
      refused(told(e), told);
    }
  }

  /** Found in the place of a regular file. */
  private static final class NoFileException extends IOException {
    private static final long serialVersionUID = 1L;

    NoFileException() {
      super("want a file, not a folder or the like");
    }
  }

  /** What is in it, or enough to tell that it is too long. */
  private byte[] bytes() throws IOException {
    if (!Files.readAttributes(path, BasicFileAttributes.class).isRegularFile()) {
      throw new NoFileException(); // to open a pipe would stop all watching
    }
    try (InputStream in = Files.newInputStream(path)) {
      return in.readNBytes(PolicyFile.LONGEST + 1);
    }
  }

  private void refused(String why, Told told) {
    if (!why.equals(fault)) { // else it was said before
      fault = why;
      Journal.LOGGER.log(
          System.Logger.Level.WARNING, "policy file not taken: " + path + ": " + why);
      told.policyRefused(path.toString(), why);
    }
  }

  private Governance taken(byte[] data, @Nullable Governance before) throws BadFileException {
    PolicyFile file = PolicyFile.parse(data);
    List<Fault> lacking = new ArrayList<>();
    file.each(
        (line, where, holds) -> {
          for (String part : lacks.apply(holds)) {
            lacking.add(new Fault(line, where, part + " is not done by this version"));
          }
        });
    if (!lacking.isEmpty()) {
      throw new BadFileException(lacking);
    }
    return new Governance(file, before, zone, sources, timers);
  }

  /** An exception in a line. */
  private static String told(Exception error) {
    if (error instanceof BadFileException || error instanceof NoFileException) {
      return String.valueOf(error.getMessage()).replace("\n", "; ");
    }
    return error instanceof NoSuchFileException ? "there is no such file" : Failures.spelled(error);
  }
}
