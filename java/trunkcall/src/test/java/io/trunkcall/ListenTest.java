package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.registry.Logged;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers on sockets that others have bound. */
class ListenTest {
  private static Server server() {
    return Server.builder()
        .serve(Handler.unary(Texts.SAY, (request, call) -> call.peer() + " " + request))
        .build();
  }

  @Test
  void aServerListensOnASocketOfTheUser() throws Exception {
    ServerSocketChannel socket = ServerSocketChannel.open();
    socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    int port = ((InetSocketAddress) socket.getLocalAddress()).getPort();
    try (Server server = server()) {
      String address = server.listen(socket);
      assertEquals("127.0.0.1:" + port, address);
      assertEquals(List.of(address), server.addresses());
      assertEquals(port, server.port());
      try (Client client = Client.of(address)) {
        String said = client.call(Texts.SAY, "hi");
        assertTrue(said.startsWith("127.0.0.1:") && said.endsWith(" hi"), said);
      }
    }
    assertFalse(socket.isOpen());
  }

  @Test
  void aUnixSocketOfTheUserGoesWithItsFile(@TempDir Path directory) throws Exception {
    Path path = directory.resolve("socket");
    ServerSocketChannel socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    socket.bind(UnixDomainSocketAddress.of(path));
    try (Server server = server()) {
      assertEquals("unix:" + path, server.listen(socket));
      try (Client client = Client.of("unix:" + path)) {
        assertTrue(client.call(Texts.SAY, "hi").endsWith(" hi"));
      }
    }
    assertFalse(socket.isOpen());
    assertFalse(Files.exists(path));
  }

  @Test
  void aSocketThatCannotBeListenedOnIsRefused() throws Exception {
    try (Server server = server();
        ServerSocketChannel unbound = ServerSocketChannel.open()) {
      String text =
          assertThrows(IllegalArgumentException.class, () -> server.listen(unbound)).getMessage();
      assertEquals("listen: the channel is not bound", text);
      unbound.close();
      assertThrows(IOException.class, () -> server.listen(unbound));
      assertEquals(List.of(), server.addresses());
    }
  }

  @Test
  void thatAnAddressIsTakenIsToldOnce() throws Exception {
    try (Logged log = new Logged();
        Server first = server();
        Server second = server()) {
      String address = first.listen("127.0.0.1:0");
      assertThrows(IOException.class, () -> second.listen(address));
      List<String> told = log.texts().stream().filter(one -> one.contains("cannot")).toList();
      String want = "cannot listen on " + address + ": Address already in use";
      assertEquals(List.of(want), told);
    }
  }

  @Test
  void aServerThatIsStartedWithoutAnAddressTellsOfIt() throws Exception {
    try (Logged log = new Logged();
        Server nowhere = server();
        Server later = server()) {
      later.listen("127.0.0.1:0");
      later.start();
      assertFalse(log.texts().stream().anyMatch(one -> one.contains("listens nowhere")));
      nowhere.start();
      assertTrue(log.texts().stream().anyMatch(one -> one.contains("listens nowhere")));
    }
  }
}
