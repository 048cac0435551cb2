package io.trunkcall.examples.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.examples.spring.server.InventoryServer;
import io.trunkcall.examples.spring.shop.InventoryClient;
import io.trunkcall.examples.spring.shop.Orders;
import io.trunkcall.examples.spring.shop.Shop;
import io.trunkcall.spring.TrunkcallServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.ConfigurableApplicationContext;

/** Both applications, on a port that was free. */
@Timeout(90)
class SpringTest {
  private static ConfigurableApplicationContext server() {
    return InventoryServer.run("--trunkcall.server.listen=127.0.0.1:0");
  }

  private static int port(ConfigurableApplicationContext server) {
    return server.getEnvironment().getRequiredProperty(TrunkcallServer.PORT, Integer.class);
  }

  private static ConfigurableApplicationContext shop(int port) {
    return Shop.run("--inventory.target=127.0.0.1:" + port);
  }

  @Test
  void theShopCallsTheServerThroughWhatIsInjected() {
    try (ConfigurableApplicationContext server = server();
        ConfigurableApplicationContext shop = shop(port(server))) {
      assertEquals(
          "user-7 may have one of 7 hammers", shop.getBean(Orders.class).order(7, "hammer"));
      InventoryClient inventory = shop.getBean(InventoryClient.class);
      assertEquals(2_000, inventory.countAsync("nail").join());
      StatusException unknown = assertThrows(StatusException.class, () -> inventory.count("saw"));
      assertEquals(Code.NOT_FOUND, unknown.code());
    }
  }

  @Test
  void curlCallsTheServerAtTheSamePort() throws Exception {
    try (ConfigurableApplicationContext server = server()) {
      Path answer = Files.createTempFile("curl", ".json");
      Process curl =
          new ProcessBuilder(
                  "curl",
                  "--silent",
                  "--show-error",
                  "--max-time",
                  "60",
                  "--header",
                  "Content-Type: application/json",
                  "--data",
                  "[\"nail\"]",
                  "http://127.0.0.1:" + port(server) + "/inventory/count")
              .redirectErrorStream(true)
              .redirectOutput(answer.toFile())
              .start();
      assertTrue(curl.waitFor(75, TimeUnit.SECONDS));
      String said = Files.readString(answer);
      Files.delete(answer);
      assertEquals("2000", said.strip());
      assertEquals(0, curl.exitValue());
    }
  }

  @Test
  void aClientOfGrpcJavaCallsTheServerAtTheSamePort() throws Exception {
    try (ConfigurableApplicationContext server = server()) {
      ManagedChannel channel =
          Grpc.newChannelBuilder("127.0.0.1:" + port(server), InsecureChannelCredentials.create())
              .build();
      try {
        GetUserResponse answer =
            UserServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(60, TimeUnit.SECONDS)
                .getUser(GetUserRequest.newBuilder().setUserId(7).build());
        assertEquals("user-7", answer.getName());
      } finally {
        channel.shutdownNow();
        assertTrue(channel.awaitTermination(60, TimeUnit.SECONDS));
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
