package io.trunkcall.examples.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.examples.spring.server.InventoryServer;
import io.trunkcall.examples.spring.shop.InventoryClient;
import io.trunkcall.examples.spring.shop.Orders;
import io.trunkcall.examples.spring.shop.Shop;
import io.trunkcall.spring.TrunkcallServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.ConfigurableApplicationContext;

/** Both applications, on a port that was free. */
@Timeout(90)
class SpringTest {
  private static ConfigurableApplicationContext shop(int port) {
    return Shop.run("--inventory.target=127.0.0.1:" + port);
  }

  @Test
  void theShopCallsTheServerThroughWhatIsInjected() {
    try (ConfigurableApplicationContext server =
        InventoryServer.run("--trunkcall.server.listen=127.0.0.1:0")) {
      int port = server.getEnvironment().getRequiredProperty(TrunkcallServer.PORT, Integer.class);
      try (ConfigurableApplicationContext shop = shop(port)) {
        assertEquals(
            "user-7 may have one of 7 hammers", shop.getBean(Orders.class).order(7, "hammer"));
        InventoryClient inventory = shop.getBean(InventoryClient.class);
        assertEquals(2_000, inventory.countAsync("nail").join());
        StatusException unknown = assertThrows(StatusException.class, () -> inventory.count("saw"));
        assertEquals(Code.NOT_FOUND, unknown.code());
      }
    }
  }

  @Test
  void withoutTheServerTheFallbackAnswers() {
    try (ConfigurableApplicationContext shop = shop(1)) {
      assertEquals("no hammer at the moment", shop.getBean(Orders.class).order(7, "hammer"));
    }
  }
}
