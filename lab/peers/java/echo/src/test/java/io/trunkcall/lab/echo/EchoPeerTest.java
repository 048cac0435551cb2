package io.trunkcall.lab.echo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.lab.smoke.Smoke;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EchoPeerTest {
  @Test
  void answersCallersThatShareAConnectionAndThoseThatHaveTheirOwn() throws Exception {
    try (Smoke smoke = Smoke.serve(EchoPeer::new)) {
      for (String method : new String[] {"Say", "Echo"}) {
        for (String connections : new String[] {"2", "4"}) {
          smoke.answers(method, "--connections", connections);
          smoke.answers(method, "--connections", connections, "--async");
        }
      }
      smoke.answers("Echo", "--connections", "2", "--size", "300000");
      smoke.answers("EchoStream", "--connections", "4");
      smoke.answers("EchoStream", "--connections", "4", "--size", "1048576");
    }
  }

  @Test
  void mistakesAreOneLineAndAStatus() {
    Smoke.mistakes(EchoPeer::new, "Netty");
    Smoke.refused(
        EchoPeer::new,
        2,
        "each caller of EchoStream needs a connection",
        "bench",
        "--target",
        "127.0.0.1:1",
        "--method",
        "EchoStream",
        "--callers",
        "2");
  }

  @Test
  void answersThatWereNotSentAreFailures() throws Exception {
    for (String shared : new String[] {"--connections=1", "--connections=2"}) {
      try (ServerSocket liar = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
        startLying(liar);
        Smoke.Said said =
            Smoke.run(
                EchoPeer::new,
                "bench",
                "--target=127.0.0.1:" + liar.getLocalPort(),
                "--callers=2",
                "--calls=4",
                "--warmup=0",
                shared);
        assertEquals(1, said.status());
        Map<String, Double> figures = Smoke.figures(said.out());
        assertEquals(4, figures.get("calls"));
        assertEquals(4, figures.get("errors"));
        assertTrue(said.err().contains("581 bytes came back that were not sent"), said.err());
      }
    }
  }

  /** Sends back frames whose last byte is another. */
  private static void startLying(ServerSocket listener) {
    Thread accepting =
        new Thread(
            () -> {
              try {
                while (true) {
                  java.net.Socket socket = listener.accept();
                  Thread lying = new Thread(() -> lie(socket));
                  lying.setDaemon(true);
                  lying.start();
                }
              } catch (IOException e) {
                // The test is over.
              }
            });
    accepting.setDaemon(true);
    accepting.start();
  }

  private static void lie(java.net.Socket socket) {
    try (socket) {
      InputStream in = socket.getInputStream();
      byte[] frame = new byte[Frame.HEADER + 581];
      while (in.readNBytes(frame, 0, frame.length) == frame.length) {
        frame[frame.length - 1]++;
        socket.getOutputStream().write(frame);
      }
    } catch (IOException e) {
      // The client has gone.
    }
  }

  @Test
  void aFrameHasItsLengthAndItsCallerInFront() {
    assertArrayEquals(
        new byte[] {3, 0, 0, 0, 1, 2, 0, 0, 'a', 'b', 'c'},
        Frame.of(0x201, new byte[] {'a', 'b', 'c'}));
  }
}
