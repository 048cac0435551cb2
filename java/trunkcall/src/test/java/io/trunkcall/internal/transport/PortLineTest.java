package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class PortLineTest {
  private static final long PATIENCE = 1_000_000; // µs

  /** Writes for as long as it can. */
  private static final class Talker implements PortLine.Owner {
    final CompletableFuture<String> failed = new CompletableFuture<>();
    final CompletableFuture<String> disconnected = new CompletableFuture<>();

    @Override
    public void connected(PortLine line) {
      new Thread(() -> talk(line), "talker").start();
    }

    private void talk(PortLine line) {
      byte[] piece = new byte[1 << 20];
      try {
        for (; ; ) {
          line.output().write(piece);
        }
      } catch (IOException e) {
        failed.complete(e.getMessage());
      }
    }

    @Override
    public void drains() {}

    @Override
    public void graceOver() {}

    @Override
    public void disconnected(String why) {
      disconnected.complete(why);
    }
  }

  @Test
  void aPeerThatReadsNothingIsGivenUp() throws Exception {
    Talker talker = new Talker();
    Protocol talks =
        PortLine.protocol(List.of(), first -> Protocol.Guess.YES, PATIENCE, () -> talker);
    ListenOptions options = ListenOptions.plain().protocols(List.of(talks));
    try (TestServer server = new TestServer("127.0.0.1:0", options);
        RawPeer peer = new RawPeer(server.listener.port())) {
      peer.write(new byte[] {'x'});
      String why = "the peer does not read what is sent: nothing for 1000 ms";
      assertEquals(why, Wait.result(talker.failed));
      assertEquals(why, Wait.result(talker.disconnected));
    }
  }
}
