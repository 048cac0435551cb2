package io.trunkcall;

import static io.trunkcall.Pair.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Windows of HTTP/2 learn the path (spec/limits.md 5). */
class Http2WindowsTest {
  private static final int LEAST = 256 << 10;
  private static final int MOST = 2 << 20;
  private static final int PIECE = 16_384; // a message with its prefix, in one frame
  private static final int AHEAD = 64 << 10; // of a stream that its handler has not asked for
  private static final Method<byte[], byte[]> TAKE =
      Method.clientStream("/t.S/Take", Codec.raw(), Codec.raw());
  private static final Method<byte[], byte[]> STAND =
      Method.clientStream("/t.S/Stand", Codec.raw(), Codec.raw());

  private final Ahead clock = new Ahead();
  private final AtomicLong taken = new AtomicLong();
  private final CompletableFuture<byte[]> over = new CompletableFuture<>();

  private Pair pair() throws IOException {
    Handler takes =
        Handler.clientStream(
            TAKE,
            (requests, call) -> {
              for (byte[] one = requests.receive(); one != null; one = requests.receive()) {
                taken.addAndGet(one.length + 5);
              }
              return new byte[0];
            });
    Handler stands = Handler.clientStream(STAND, (requests, call) -> over.join());
    Limits limits = Limits.DEFAULTS.withPool(1 << 20, MOST);
    return new Pair(
        server -> {
          server.serve(takes, stands).limits(limits);
          server.clock = clock;
        },
        client -> {});
  }

  /** A peer that keeps to the windows it is given. */
  private final class Sender implements AutoCloseable {
    final Http2Peer peer;
    final Map<Integer, Long> left = new HashMap<>(); // of the windows of streams
    long conn = 65_535;
    long told = LEAST; // what streams begin with
    int changed; // SETTINGS that came
    int pinged;
    Duration step = Duration.ofSeconds(2);
    final List<byte[]> pings = new ArrayList<>(); // that are to be answered in the next round
    long sent; // on streams whose handlers take it

    Sender(Server server) throws IOException {
      peer = new Http2Peer(server, 65_535);
      round(frame -> {});
    }

    void begins(int id, String path) throws IOException {
      peer.call(id, path);
      left.put(id, told);
    }

    /** Sends messages as far as the windows allow, at most so many bytes. */
    long sends(int id, long most) throws IOException {
      long all = 0;
      byte[] message = Http2Peer.message(id, new byte[PIECE - 5], 0);
      while (all + PIECE <= most && Math.min(conn, left.get(id)) >= PIECE) {
        peer.write(message);
        conn -= PIECE;
        left.merge(id, (long) -PIECE, Long::sum);
        all += PIECE;
      }
      return all;
    }

    /** The frames that the server has sent once all has been taken that handlers take. */
    private List<Http2Peer.Frame> come() throws IOException {
      until(() -> taken.get() == sent, "not all was taken");
      List<Http2Peer.Frame> frames = new ArrayList<>();
      byte[] here = "here....".getBytes(java.nio.charset.StandardCharsets.US_ASCII);
      peer.write(Http2Peer.frame(Http2Peer.PING, 0, 0, here));
      peer.await(
          frame -> {
            boolean end = frame.type() == Http2Peer.PING && frame.ends();
            if (!end) {
              frames.add(frame);
            }
            return end;
          },
          "the answer to PING");
      return frames;
    }

    /** Takes note of credit, and acknowledges SETTINGS. */
    void heeds(List<Http2Peer.Frame> frames) throws IOException {
      for (Http2Peer.Frame frame : frames) {
        ByteBuffer payload = ByteBuffer.wrap(frame.payload());
        if (frame.type() == Http2Peer.WINDOW_UPDATE) {
          long more = payload.getInt();
          if (frame.stream() == 0) {
            conn += more;
          } else {
            left.computeIfPresent(frame.stream(), (id, had) -> had + more);
          }
        } else if (frame.type() == Http2Peer.SETTINGS && !frame.ends()) {
          changed++;
          payload.getShort();
          long window = payload.getInt();
          left.replaceAll((id, had) -> had + window - told);
          told = window;
          peer.write(Http2Peer.frame(Http2Peer.SETTINGS, Http2Peer.END, 0, new byte[0]));
        }
      }
    }

    /** Takes in what came, and answers PINGs behind what {@code before} does. */
    void round(Between before) throws IOException {
      List<Http2Peer.Frame> frames = come();
      before.run(frames);
      for (Http2Peer.Frame frame : frames) {
        if (frame.type() == Http2Peer.PING) {
          pinged++;
          peer.write(Http2Peer.frame(Http2Peer.PING, Http2Peer.END, 0, frame.payload()));
        }
      }
      heeds(frames);
    }

    /**
     * One way there and back to a peer far away: what it may send of what it knew before is under
     * way when the PING reaches it.
     */
    void farRound(int id) throws IOException {
      List<Http2Peer.Frame> frames = come();
      sent += sends(id, Long.MAX_VALUE);
      until(() -> taken.get() == sent, "not all was taken");
      clock.by(step);
      step = step.multipliedBy(9).dividedBy(10); // the rate rises, whatever else takes time
      for (byte[] ping : pings) {
        peer.write(Http2Peer.frame(Http2Peer.PING, Http2Peer.END, 0, ping));
      }
      pings.clear();
      for (Http2Peer.Frame frame : frames) { // answered in the next round, behind what is sent then
        if (frame.type() == Http2Peer.PING) {
          pings.add(frame.payload());
        }
      }
      heeds(frames);
    }

    void learns(int id) throws IOException {
      long end = System.nanoTime() + Pair.PATIENCE.toNanos();
      while (told < MOST / 2) {
        assertTrue(System.nanoTime() < end, "streams begin with " + told);
        farRound(id);
        if (step.toMillis() < 100) { // it was too noisy: the path is learned anew
          clock.by(Duration.ofSeconds(61));
          step = Duration.ofSeconds(2);
        }
      }
      farRound(id);
      farRound(id);
      round(frames -> {});
    }

    @Override
    public void close() throws IOException {
      peer.close();
    }
  }

  private interface Between {
    void run(List<Http2Peer.Frame> frames) throws IOException;
  }

  @Test
  void windowsOfAFarPeerGrowWithThePath() throws Exception {
    try (Pair pair = pair();
        Sender sender = new Sender(pair.server)) {
      sender.begins(1, "/t.S/Take");
      sender.learns(1);
      assertTrue(sender.told >= MOST / 2, "streams begin with " + sender.told);
      sender.begins(3, "/t.S/Take");
      long sent = sender.sends(3, Long.MAX_VALUE);
      sender.sent += sent;
      assertTrue(sent > MOST / 4, "a new stream may send " + sent + " bytes at once");
      assertTrue(sender.left.get(1) <= 2 * MOST, "a window of " + sender.left.get(1));
    }
  }

  @Test
  void windowsOfANearPeerStayAndThereAreFewPings() throws Exception {
    try (Pair pair = pair();
        Sender sender = new Sender(pair.server)) {
      sender.begins(1, "/t.S/Take");
      int before = sender.pinged;
      while (sender.sent < 16 << 20) {
        sender.sent += sender.sends(1, 4 * PIECE);
        sender.round(frames -> {});
      }
      assertEquals(0, sender.changed);
      assertTrue(sender.left.get(1) <= LEAST, "a window of " + sender.left.get(1));
      int pings = sender.pinged - before;
      assertTrue(pings > 0 && pings <= 12, pings + " PINGs"); // 64 KiB, doubling to 4 MiB
    }
  }

  @Test
  void anAckThatIsTooLateEnlargesNoWindow() throws Exception {
    try (Pair pair = pair();
        Sender sender = new Sender(pair.server)) {
      sender.begins(1, "/t.S/Take");
      for (int round = 0; round < 20; round++) {
        sender.round(
            frames -> {
              sender.sent += sender.sends(1, Long.MAX_VALUE);
              clock.by(Duration.ofSeconds(11));
            });
      }
      assertEquals(0, sender.changed);
      assertTrue(sender.left.get(1) <= LEAST, "a window of " + sender.left.get(1));
    }
  }

  @Test
  void aLongMessageGetsTheWindowThatItNeeds() throws Exception {
    int length = 1 << 20;
    try (Pair pair = pair();
        Sender sender = new Sender(pair.server)) {
      sender.begins(1, "/t.S/Take");
      byte[] prefix = ByteBuffer.allocate(5).putInt(1, length).array();
      sender.peer.write(Http2Peer.frame(Http2Peer.DATA, 0, 1, prefix));
      sender.left.merge(1, -5L, Long::sum);
      sender.conn -= 5;
      sender.round(frames -> {});
      assertTrue(sender.left.get(1) >= length, "a window of " + sender.left.get(1));
    }
  }

  /** Each is filled before the next one is opened, by a peer that is far away. */
  @Test
  void streamsThatStandStillHaveTheBoundTogether() throws Exception {
    int streams = 40;
    AutoCloseable gate = () -> over.complete(new byte[0]); // servers wait for their handlers
    try (Pair pair = pair();
        Sender sender = new Sender(pair.server);
        gate) {
      sender.begins(1, "/t.S/Take");
      sender.learns(1);
      long stand = 0;
      for (int id = 3; id <= 2 * streams + 1; id += 2) {
        sender.begins(id, "/t.S/Stand");
        long more = sender.sends(id, Long.MAX_VALUE);
        for (int round = 0; round < 3 || more > 0; round++) { // credit comes behind the ACK
          stand += more;
          sender.round(frames -> {});
          more = sender.sends(id, Long.MAX_VALUE);
        }
      }
      assertTrue(stand >= streams * (long) LEAST, stand + " bytes"); // each has what it began with
      // What was learned: told, lent, and under way when it was told otherwise.
      long most = streams * (long) (LEAST + AHEAD) + 3 * MOST;
      assertTrue(stand <= most, stand + " bytes stand in streams, " + most + " at most");
    }
  }

  @Test
  void windowsShrinkWhenNothingComes() throws Exception {
    try (Pair pair = pair();
        Sender sender = new Sender(pair.server)) {
      sender.begins(1, "/t.S/Take");
      sender.learns(1);
      clock.by(Duration.ofMinutes(10));
      sender.sent += sender.sends(1, PIECE);
      sender.round(frames -> {});
      sender.round(frames -> {});
      assertEquals(LEAST, sender.told);
    }
  }
}
