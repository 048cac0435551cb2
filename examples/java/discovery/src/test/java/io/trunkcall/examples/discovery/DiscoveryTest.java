package io.trunkcall.examples.discovery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.Server;
import io.trunkcall.registry.RegistryServer;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiscoveryTest {
  @TempDir Path folder;

  private static List<String> printed(String registry) throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true));
    try {
      Discovery.main(new String[] {registry});
    } finally {
      System.setOut(before);
    }
    return printed.toString().lines().toList();
  }

  @Test
  void serversAreFoundInAFolder() throws Exception {
    assertEquals(List.of("answered by first", "answered by second"), printed("file:" + folder));
  }

  @Test
  void serversAreFoundInTheEmbeddedRegistry() throws Exception {
    try (RegistryServer registry = RegistryServer.builder().build();
        Server server = registry.serverBuilder().build()) {
      String address = server.listen("127.0.0.1:0");
      assertEquals(
          List.of("answered by first", "answered by second"), printed("trunkcall:" + address));
    }
  }
}
