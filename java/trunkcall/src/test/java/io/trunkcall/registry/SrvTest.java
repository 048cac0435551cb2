package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Client;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class SrvTest {
  private static final int NO_SUCH_NAME = 3;
  private static final int FAILURE = 2;

  private final Instances instances = new Instances();

  @AfterEach
  void close() throws Exception {
    instances.close();
  }

  /** Answers one question of DNS, fails for "broken", and knows no other name. */
  private static final class NameServer implements AutoCloseable {
    private final DatagramSocket socket;
    private final byte[] question;
    private final int port;

    NameServer(String question, int port) throws IOException {
      this.socket = new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      this.question = name(question);
      this.port = port;
      Thread thread = new Thread(this::run, "name-server");
      thread.setDaemon(true);
      thread.start();
    }

    String address() {
      return "dns://127.0.0.1:" + socket.getLocalPort();
    }

    private static byte[] name(String text) {
      ByteBuffer to = ByteBuffer.allocate(255);
      for (String label : text.split("\\.", -1)) {
        byte[] bytes = label.getBytes(StandardCharsets.US_ASCII);
        to.put((byte) bytes.length).put(bytes);
      }
      to.put((byte) 0);
      byte[] made = new byte[to.position()];
      to.flip().get(made);
      return made;
    }

    private void run() {
      byte[] buffer = new byte[1_500];
      while (true) {
        DatagramPacket packet = new DatagramPacket(buffer, buffer.length);
        try {
          socket.receive(packet);
          byte[] answer = answer(ByteBuffer.wrap(buffer, 0, packet.getLength()));
          socket.send(new DatagramPacket(answer, answer.length, packet.getSocketAddress()));
        } catch (IOException closed) {
          return;
        }
      }
    }

    private byte[] answer(ByteBuffer asked) {
      short id = asked.getShort();
      asked.position(12);
      int begin = asked.position();
      for (int length = asked.get(); length != 0; length = asked.get()) {
        asked.position(asked.position() + length);
      }
      byte[] name = new byte[asked.position() - begin];
      asked.get(begin, name);
      String text = new String(name, StandardCharsets.US_ASCII);
      boolean known = text.equals(new String(question, StandardCharsets.US_ASCII));
      int code = known ? 0 : text.contains("broken") ? FAILURE : NO_SUCH_NAME;
      ByteBuffer to = ByteBuffer.allocate(512);
      to.putShort(id).putShort((short) (0x8580 | code));
      to.putShort((short) 1).putShort((short) (known ? 1 : 0)).putShort((short) 0);
      to.putShort((short) 0);
      to.put(name).putShort(asked.getShort()).putShort(asked.getShort());
      if (known) {
        byte[] target = name("localhost");
        to.put(name).putShort((short) 33).putShort((short) 1).putInt(60);
        to.putShort((short) (6 + target.length));
        to.putShort((short) 0).putShort((short) 0).putShort((short) port).put(target);
      }
      byte[] made = new byte[to.position()];
      to.flip().get(made);
      return made;
    }

    @Override
    public void close() {
      socket.close();
    }
  }

  @Test
  void serversAreFoundByDns() throws Exception {
    var server = instances.server("found");
    server.listen("127.0.0.1:0");
    NameServer names =
        instances.closing(new NameServer("_test-Names._tcp.example.com", server.port()));
    Instances.until(instances.find(new Srv("example.com", names.address())), "found");
    Client none = instances.find(new Srv("example.net", names.address()));
    String text = Instances.failure(none).status().message();
    assertTrue(
        text.contains(
            "no instance of test.Names is registered: DNS was asked for"
                + " _test-Names._tcp.example.net"),
        text);
    Client broken = instances.find(new Srv("broken.example", names.address()));
    String why = Instances.failure(broken).status().message();
    assertTrue(
        why.contains("watching test.Names: _test-Names._tcp.broken.example: ")
            && why.contains("DNS"),
        why);
  }

  @Test
  void anAnswerThatIsNoRecordHarmsNoOther() {
    List<Entry> entries =
        Srv.entries(
            "users", List.of(new Srv.Answer("a b.", 1, 0, 0), new Srv.Answer("a.", 1, 0, 0)));
    assertEquals(List.of("a_b_1", "a_1"), entries.stream().map(Entry::id).toList());
    String why = String.valueOf(entries.get(0).fault());
    assertTrue(why.startsWith("addresses[0]: want an address, not \"a b:1\""), why);
    assertEquals("SRV a b.", entries.get(0).from());
    assertNull(entries.get(1).fault());
  }
}
