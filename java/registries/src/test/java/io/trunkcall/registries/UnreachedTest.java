package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.trunkcall.registry.Registry;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Store;
import io.trunkcall.registry.Written;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A registry that refuses connections is told with its hosts and the reason. */
@Timeout(120)
final class UnreachedTest {
  private static final String ID = "a";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "zookeeper:127.0.0.1:1,[::1]:1 | ZooKeeper: 127.0.0.1:1: Connection refused, [::1]:1: ",
        "zookeeper:a..b:1 | ZooKeeper: a..b:1: unknown host",
        "consul:127.0.0.1:1 | Consul: 127.0.0.1:1: Connection refused",
        "consul:nowhere.invalid:1 | Consul: nowhere.invalid:1: unknown host",
      })
  void isToldWithItsHostsAndTheReason(String name, String text) throws Exception {
    assertBegins(text, Spoilt.failure(Registry.open(name)));
    Store store = Registry.openStore(name);
    Written one = new Written(ServiceRecord.builder(StoresTest.SERVICE, ID, "a:1").build());
    assertBegins(
        text,
        assertThrows(RegistryException.class, () -> store.keep(List.of(one), () -> {}))
            .getMessage());
  }

  private static void assertBegins(String text, String said) {
    assertEquals(text, said.substring(0, Math.min(text.length(), said.length())));
  }
}
