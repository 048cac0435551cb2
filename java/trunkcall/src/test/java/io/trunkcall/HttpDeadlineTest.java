package io.trunkcall;

import static io.trunkcall.Http2Peer.DATA;
import static io.trunkcall.Http2Peer.END;
import static io.trunkcall.Http2Peer.HEADERS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Calls of Connect whose time ends while their handlers run (spec/http.md 5). */
class HttpDeadlineTest {
  private static final Method<byte[], byte[]> WAIT =
      Method.unary("/t.S/Wait", Codec.raw(), Codec.raw());
  private static final String[] GZIP = {
    "content-type", "application/raw", "accept-encoding", "gzip", "connect-timeout-ms", "50"
  };

  /** The public suite's client loses the body of such an answer by chance (decisions/0059). */
  @Test
  void theAnswerIsAWholeError() throws Exception {
    CompletableFuture<byte[]> given = new CompletableFuture<>();
    AutoCloseable gate = () -> given.complete(new byte[0]); // servers wait for their handlers
    Handler waits = Handler.unary(WAIT, (request, call) -> given.join());
    try (Pair pair = new Pair(waits);
        Http2Peer peer = new Http2Peer(pair.server, 65_535);
        gate) {
      for (int stream = 1; stream < 20; stream += 2) {
        peer.write(Http2Peer.request(stream, "/t.S/Wait", 0, GZIP));
        peer.write(Http2Peer.frame(DATA, END, stream, new byte[1]));
        Http2Peer.Frame head = peer.await(HEADERS, stream);
        assertEquals("504", head.field(":status"));
        assertEquals("application/json", head.field("content-type"));
        assertEquals("", head.field("content-encoding"));
        assertFalse(head.ends());
        Http2Peer.Frame body = peer.await(DATA, stream);
        String error = new String(body.payload(), StandardCharsets.UTF_8);
        assertTrue(error.startsWith("{\"code\":\"deadline_exceeded\","), error);
        assertTrue(body.ends());
        assertEquals(head.field("content-length"), Integer.toString(body.payload().length));
      }
    }
  }
}
