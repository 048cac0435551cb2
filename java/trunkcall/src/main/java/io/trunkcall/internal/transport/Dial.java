package io.trunkcall.internal.transport;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Opens connections: the addresses of an endpoint, raced (client.md 9.3 to 9.5). */
public final class Dial implements Racing.Attempts<Carrier> {
  private final Dialing dialing;
  private final Map<Racing.Place, Attempt> attempts = new HashMap<>(); // the last of each

  private Dial(Dialing dialing) {
    this.dialing = dialing;
  }

  /**
   * Connects to the address that can be reached first, with the handshakes of TLS and of a
   * WebSocket if it is to have them. Completed on the loop; fails with a {@link DialException}. To
   * cancel the result gives the attempt up.
   */
  public static CompletableFuture<Carrier> dial(Dialing dialing) {
    CompletableFuture<Carrier> result = new CompletableFuture<>();
    dialing.loop().execute(() -> new Dial(dialing).run(result));
    return result;
  }

  private void run(CompletableFuture<Carrier> result) {
    Racing.Lookup lookup = dialing.open() == null ? this::lookUp : null;
    CompletableFuture<Carrier> race =
        Racing.run(
            new LoopClockwork(dialing.loop()), dialing.addresses(), lookup, this, dialing.alone());
    race.whenComplete(
        (made, fault) -> {
          if (fault != null) {
            result.completeExceptionally(fault);
          } else if (!result.complete(made)) {
            made.abort("it was given up");
          }
        });
    // Whoever cancels may do so on any thread.
    result.whenComplete(
        (made, fault) -> {
          if (result.isCancelled()) {
            dialing.loop().execute(() -> race.cancel(false));
          }
        });
  }

  // What the race asks for.

  private CompletableFuture<List<String>> lookUp(String host) {
    CompletableFuture<List<String>> onLoop = new CompletableFuture<>();
    Background.run(Background.NAMES, () -> addressesOf(host))
        .whenComplete(
            (found, fault) ->
                dialing
                    .loop()
                    .execute(
                        () -> {
                          if (fault == null) {
                            onLoop.complete(found);
                          } else {
                            onLoop.completeExceptionally(fault);
                          }
                        }));
    return onLoop;
  }

  private static List<String> addressesOf(String host) throws UnknownHostException {
    List<String> found = new ArrayList<>();
    for (InetAddress one : InetAddress.getAllByName(host)) {
      String text = one.getHostAddress();
      boolean scoped = one instanceof Inet6Address six && six.getScopedInterface() != null;
      found.add(scoped ? text : text.replaceFirst("%.*", ""));
    }
    return found;
  }

  @Override
  public CompletableFuture<Carrier> connect(Racing.Place place) {
    Attempt attempt = new Attempt(dialing, place);
    attempts.put(place, attempt);
    return attempt.begin();
  }

  @Override
  public boolean restarts(Throwable fault) {
    return Faults.ofRestart(fault);
  }

  @Override
  public String describe(Throwable fault) {
    boolean secure = dialing.tls() != null;
    for (Attempt one : attempts.values()) {
      secure = secure || one.secure;
    }
    return Faults.ofDialling(fault, secure);
  }

  @Override
  public String unheard(Racing.Place place) {
    @Nullable Attempt attempt = attempts.get(place);
    return attempt == null ? "" : attempt.unheard();
  }
}
