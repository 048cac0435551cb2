package io.trunkcall.internal.transport;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * The addresses of an endpoint, tried in the order and at the times of RFC 8305 (client.md 9.3 and
 * 9.4). Everything happens on one loop.
 *
 * @param <C> what is opened
 */
public final class Racing<C> {
  /** For all addresses together. */
  public static final Duration DIAL_TIMEOUT = Duration.ofSeconds(10);

  /** For each of several. */
  public static final Duration ADDRESS_TIMEOUT = Duration.ofSeconds(3);

  /** From the try of one address to that of the next. */
  public static final Duration STAGGER = Duration.ofMillis(250);

  /** Finds the addresses of a host. */
  public interface Lookup {
    /** IP addresses in the order of the answer; completed on the loop. */
    CompletableFuture<List<String>> addresses(String host);
  }

  /** Tries one place. */
  public interface Attempts<C> {
    /**
     * Connects, with all handshakes and the greeting that are wanted. The result is completed on
     * the loop. Where it is cancelled before, whatever was opened is to be closed.
     */
    CompletableFuture<C> connect(Place place);

    /**
     * Whether a server that is being restarted fails so: it refused the connection, or turned the
     * client away.
     */
    boolean restarts(Throwable fault);

    /** A fault in words, for people. */
    String describe(Throwable fault);

    /** What is known of a server that has accepted and not spoken; empty if nothing is. */
    default String unheard(Place place) {
      return "";
    }
  }

  /**
   * Where one try goes.
   *
   * @param name the host that was looked up, or that stands in the address
   * @param where the place for people
   */
  public record Place(Address address, String name, String where) {
    @Override
    public String toString() {
      return where;
    }
  }

  private final Clockwork clockwork;
  private final List<Address> addresses;
  private final Attempts<C> attempts;
  private final boolean alone;
  private final CompletableFuture<C> result = new CompletableFuture<>();
  private final Map<String, String> faults = new LinkedHashMap<>();
  private final Set<Place> restarting = new HashSet<>();
  private final List<CompletableFuture<?>> lookups = new ArrayList<>();
  private List<Place> places = List.of();
  private @Nullable Round round;

  private Racing(
      Clockwork clockwork, List<Address> addresses, Attempts<C> attempts, boolean alone) {
    this.clockwork = clockwork;
    this.addresses = addresses;
    this.attempts = attempts;
    this.alone = alone;
  }

  /**
   * Opens what can be opened first; everything else is cancelled. The result fails with a {@link
   * DialException}; to cancel it, on the loop, ends all tries.
   *
   * @param lookup null if names are not looked up
   * @param alone whether the client has no other endpoint to try
   */
  public static <C> CompletableFuture<C> run(
      Clockwork clockwork,
      List<Address> addresses,
      @Nullable Lookup lookup,
      Attempts<C> attempts,
      boolean alone) {
    Racing<C> racing = new Racing<>(clockwork, addresses, attempts, alone);
    Clockwork.Timer timer = clockwork.after(DIAL_TIMEOUT, racing::timeOut);
    CompletableFuture<?> unused =
        racing.result.whenComplete(
            (made, fault) -> {
              timer.cancel();
              racing.stop();
            });
    racing.lookUp(lookup);
    return racing.result;
  }

  private void timeOut() {
    String fault = noAnswer(DIAL_TIMEOUT);
    if (places.isEmpty()) {
      addresses.forEach(one -> faults.putIfAbsent(one.toString(), fault));
    }
    places.forEach(one -> faults.putIfAbsent(one.where, fault));
    fail();
  }

  private static String noAnswer(Duration within) {
    return "no answer in %.1f s".formatted(within.toMillis() / 1e3);
  }

  private void fail() {
    List<String> told = new ArrayList<>();
    faults.forEach((where, fault) -> told.add(where + ": " + fault));
    result.completeExceptionally(new DialException(String.join("; ", told)));
  }

  private void stop() {
    lookups.forEach(one -> one.cancel(false));
    if (round != null) {
      round.stop();
    }
  }

  /** Finds the places that the addresses stand for, all at once. */
  private void lookUp(@Nullable Lookup lookup) {
    List<List<Place>> found = new ArrayList<>();
    for (int at = 0; at < addresses.size(); at++) {
      Address address = addresses.get(at);
      found.add(List.of(new Place(address, address.host(), address.toString())));
      if (lookup != null && address.isTcp() && !Address.isIp(address.host())) {
        lookups.add(lookUp(lookup, address, found, at));
      }
    }
    CompletableFuture<?> unused =
        CompletableFuture.allOf(lookups.toArray(CompletableFuture<?>[]::new))
            .whenComplete((none, fault) -> begin(found));
  }

  /** The look-up of one name, which puts what it finds at its place among all. */
  private CompletableFuture<?> lookUp(
      Lookup lookup, Address address, List<List<Place>> found, int at) {
    return lookup
        .addresses(address.host())
        .handle(
            (answer, fault) -> {
              found.set(at, fault == null ? placesOf(address, answer) : List.of());
              if (fault != null) {
                faults.put(address.toString(), attempts.describe(cause(fault)));
              } else if (answer.isEmpty()) {
                faults.put(address.toString(), "the name has no address");
              }
              return null;
            });
  }

  private static List<Place> placesOf(Address address, List<String> hosts) {
    Set<String> once = new LinkedHashSet<>(hosts);
    List<Place> found = new ArrayList<>();
    for (String host : once) {
      String where = once.size() == 1 ? address.toString() : address + " (" + host + ")";
      found.add(new Place(address.at(host), address.host(), where));
    }
    return found;
  }

  private void begin(List<List<Place>> found) {
    if (result.isDone()) {
      return;
    }
    Map<Address, Place> once = new LinkedHashMap<>();
    found.forEach(several -> several.forEach(one -> once.putIfAbsent(one.address, one)));
    places = interleaved(List.copyOf(once.values()));
    round = new Round(places, this::secondRound);
    round.next();
  }

  /** The first stays first; then addresses of IPv6 and others take turns. */
  static List<Place> interleaved(List<Place> places) {
    Deque<Place> six = new ArrayDeque<>();
    Deque<Place> others = new ArrayDeque<>();
    for (Place one : places) {
      (one.address.host().indexOf(':') >= 0 ? six : others).add(one);
    }
    boolean sixFirst = !six.isEmpty() && six.getFirst().equals(places.get(0));
    List<Place> found = new ArrayList<>(places.size());
    for (boolean nextSix = sixFirst; found.size() < places.size(); nextSix = !nextSix) {
      Place next = (nextSix ? six : others).poll();
      if (next != null) {
        found.add(next);
      }
    }
    return found;
  }

  /**
   * Tries the addresses once more, except the last, that refused or turned the client away. Servers
   * restart in turn, and one that was down may be back by the time that the next one stops.
   */
  private void secondRound() {
    List<Place> again = new ArrayList<>();
    for (int at = 0; at < places.size() - 1; at++) {
      if (restarting.contains(places.get(at))) {
        again.add(places.get(at));
      }
    }
    round = new Round(again, this::fail);
    round.next();
  }

  /** Several places, each tried once. */
  private final class Round {
    private final Deque<Place> waiting;
    private final Runnable exhausted;
    private final IdentityHashMap<CompletableFuture<C>, Clockwork.Timer> running =
        new IdentityHashMap<>();
    private @Nullable CompletableFuture<C> last;
    private Clockwork.@Nullable Timer stagger;
    private boolean over;

    Round(List<Place> places, Runnable exhausted) {
      this.waiting = new ArrayDeque<>(places);
      this.exhausted = exhausted;
    }

    /** Tries the next place. */
    void next() {
      if (stagger != null) {
        stagger.cancel();
        stagger = null;
      }
      Place place = waiting.poll();
      if (place == null) {
        over = true;
        exhausted.run();
        return;
      }
      CompletableFuture<C> begun = attempts.connect(place);
      Duration limit = alone && places.size() == 1 ? DIAL_TIMEOUT : ADDRESS_TIMEOUT;
      last = begun;
      running.put(begun, clockwork.after(limit, () -> timeOut(place, begun, limit)));
      if (!waiting.isEmpty()) {
        stagger = clockwork.after(STAGGER, this::next);
      }
      CompletableFuture<?> unused =
          begun.whenComplete((made, fault) -> ended(place, begun, made, fault));
    }

    private void timeOut(Place place, CompletableFuture<C> begun, Duration limit) {
      String unheard = attempts.unheard(place);
      failed(place, begun, unheard.isEmpty() ? noAnswer(limit) : unheard);
      begun.cancel(false);
    }

    private void ended(
        Place place, CompletableFuture<C> begun, @Nullable C made, @Nullable Throwable fault) {
      Clockwork.Timer timer = running.get(begun);
      if (over || timer == null) {
        return; // its time was over before
      }
      timer.cancel();
      if (made != null) {
        running.remove(begun);
        result.complete(made);
        return;
      }
      Throwable cause = cause(fault);
      if (attempts.restarts(cause)) {
        restarting.add(place);
      }
      failed(place, begun, attempts.describe(cause));
    }

    private void failed(Place place, CompletableFuture<C> begun, String why) {
      faults.put(place.where, why);
      running.remove(begun);
      if (begun == last && !waiting.isEmpty()) {
        next();
      } else if (running.isEmpty() && waiting.isEmpty()) {
        over = true;
        exhausted.run();
      }
    }

    void stop() {
      over = true;
      if (stagger != null) {
        stagger.cancel();
      }
      List<CompletableFuture<C>> cancelled = List.copyOf(running.keySet());
      running.values().forEach(Clockwork.Timer::cancel);
      running.clear();
      cancelled.forEach(one -> one.cancel(false));
    }
  }

  private static Throwable cause(@Nullable Throwable fault) {
    if (fault instanceof CompletionException && fault.getCause() != null) {
      return fault.getCause();
    }
    return fault == null ? new IllegalStateException("nothing was opened") : fault;
  }
}
