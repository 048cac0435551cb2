package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Endpoint;
import io.trunkcall.Watch;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** dns:HOST:PORT (client.md 8.4), in a time of the test's own. */
final class DnsTest implements Dns.Machine, Watch {
  private final List<String> did = new ArrayList<>();
  private final List<List<Endpoint>> sets = new ArrayList<>();
  private List<String> answer = List.of("10.0.0.1", "::1", "10.0.0.1");
  private long now = 1;
  private int waits = 2; // until the client is closed
  private Duration failsAfter; // an endpoint, each time that the resolver waits; null: none does

  @Override
  public List<String> addresses(String host) {
    did.add("asked for " + host);
    return answer;
  }

  @Override
  public long nanos() {
    return now;
  }

  @Override
  public void sleep(Duration time) {
    did.add("slept " + time.toMillis());
    now += time.toNanos();
  }

  @Override
  public double random() {
    return 0.5;
  }

  @Override
  public String target() {
    return "example.com:50051";
  }

  @Override
  public void set(List<Endpoint> endpoints) {
    sets.add(endpoints);
  }

  @Override
  public void fail(String why) {
    throw new AssertionError(why);
  }

  @Override
  public boolean awaitFailure(Duration atMost) throws InterruptedException {
    if (waits-- == 0) {
      throw new InterruptedException();
    }
    did.add("waited " + atMost.toMillis());
    now += (failsAfter == null ? atMost : failsAfter).toNanos();
    return failsAfter != null;
  }

  private void run() {
    assertThrows(InterruptedException.class, () -> new Dns(this).resolve(this));
  }

  @Test
  void eachAddressIsAnEndpointWithTheNameOfTheHost() {
    run();
    List<Endpoint> wanted =
        List.of(
            Endpoint.builder("10.0.0.1:50051").serverName("example.com").build(),
            Endpoint.builder("[::1]:50051").serverName("example.com").build());
    assertEquals(wanted, sets.get(0));
  }

  @Test
  void theNameIsAskedForAgainAfterAWhile() {
    run();
    assertEquals(
        List.of(
            "asked for example.com",
            "waited 30000",
            "asked for example.com",
            "waited 30000",
            "asked for example.com"),
        did);
  }

  @Test
  void andWhenAnEndpointFailedButNotWithinFiveSeconds() {
    failsAfter = Duration.ofSeconds(2);
    waits = 1;
    run();
    assertEquals(
        List.of("asked for example.com", "waited 30000", "slept 3000", "asked for example.com"),
        did);
  }

  @Test
  void whatFailsLaterIsAskedForAtOnce() {
    failsAfter = Duration.ofSeconds(9);
    waits = 1;
    run();
    assertEquals(List.of("asked for example.com", "waited 30000", "asked for example.com"), did);
  }

  @Test
  void noAddressAtAllIsAnError() {
    answer = List.of();
    IOException fault = assertThrows(IOException.class, () -> new Dns(this).resolve(this));
    assertTrue(fault.getMessage().contains("example.com has no address"));
    assertEquals(List.of(), sets);
  }

  @Test
  void slashesAreAdvisedAgainst() {
    Exception fault =
        assertThrows(IllegalArgumentException.class, () -> Dns.place("//example.com:443"));
    assertEquals(
        "target \"dns://example.com:443\": there are slashes in it, without which it is"
            + " dns:example.com:443: want dns:HOST:PORT",
        fault.getMessage());
  }
}
