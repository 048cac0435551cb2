package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.trunkcall.Policy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Policies beside what client.json has of them (client.md 11). */
final class PoliciesTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void aClientsTimeoutIsOneForAll() {
    Policy service = Policy.forService("p.S").timeout(SECOND.multipliedBy(2)).build();
    Policy all = Policy.forAll().waitForReady(true).build();
    Policies policies = Policies.of(List.of(service, all), SECOND);
    assertEquals(SECOND.multipliedBy(2), policies.of("/p.S/M").timeout());
    assertEquals(SECOND, policies.of("/p.T/M").timeout());
    assertEquals(true, policies.of("/p.T/M").waitForReady());
    assertNull(policies.ofStream("/p.T/M").timeout());
  }

  @Test
  void aClientsTimeoutBesideOneForAllIsAtFault() {
    Policy all = Policy.forAll().timeout(SECOND).build();
    Exception fault =
        assertThrows(IllegalArgumentException.class, () -> Policies.of(List.of(all), SECOND));
    assertEquals(
        "there is a timeout of the client and one of a policy for all methods", fault.getMessage());
  }

  @Test
  void faultsNameThePolicy() {
    Exception fault =
        assertThrows(
            IllegalArgumentException.class, () -> Policy.forMethod("p.S/M").repeat(true).build());
    assertEquals(
        "policy of p.S/M: want /package.Service/Method, /package.Service/ or nothing",
        fault.getMessage());
    fault = assertThrows(IllegalArgumentException.class, () -> Policy.forAll().build());
    assertEquals("policy of all methods: it says nothing", fault.getMessage());
  }

  @Test
  void methodsWithoutNumberAreNotAllRemembered() {
    Policies policies = Policies.of(List.of(Policy.forAll().repeat(false).build()), null);
    for (int i = 0; i < 10_000; i++) {
      assertEquals(false, policies.of("/p.S/M" + i).repeat());
    }
  }
}
