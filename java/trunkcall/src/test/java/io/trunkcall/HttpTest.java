package io.trunkcall;

import static io.trunkcall.Pair.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Calls that come as requests of HTTP/1.1 (spec/http.md 4, 5 and 7). */
class HttpTest {
  private static final Method<byte[], byte[]> ECHO =
      Method.unary("/t.S/Echo", Codec.raw(), Codec.raw());

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private static Handler echo() {
    return Handler.unary(
        ECHO,
        (request, call) -> {
          String text = new String(request, StandardCharsets.UTF_8);
          if (text.equals("fail")) {
            throw new StatusException(Code.NOT_FOUND, "no such thing");
          }
          call.setTrailers(Metadata.of("behind", "all"));
          return request;
        });
  }

  private static HttpRequest.Builder to(Pair pair, String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + pair.server.port() + path))
        .timeout(Pair.PATIENCE);
  }

  private HttpResponse<String> post(Pair pair, String path, String type, String body)
      throws Exception {
    HttpRequest request =
        to(pair, path)
            .header("content-type", type)
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void aUnaryCallIsAPlainRequest() throws Exception {
    try (Pair pair = new Pair(echo())) {
      HttpResponse<String> answer = post(pair, "/t.S/Echo", "application/raw", "hello");
      assertEquals(200, answer.statusCode());
      assertEquals("hello", answer.body());
      assertEquals("all", answer.headers().firstValue("trailer-behind").orElse(""));
    }
  }

  @Test
  void aFailureHasTheStatusOfItsCode() throws Exception {
    try (Pair pair = new Pair(echo())) {
      HttpResponse<String> answer = post(pair, "/t.S/Echo", "application/raw", "fail");
      assertEquals(404, answer.statusCode());
      assertEquals("{\"code\":\"not_found\",\"message\":\"no such thing\"}", answer.body());
    }
  }

  @Test
  void whatIsNoCallIsToldWhatIs() throws Exception {
    try (Pair pair = new Pair(echo())) {
      assertEquals(404, post(pair, "/t.S/Other", "application/raw", "").statusCode());
      HttpResponse<String> type = post(pair, "/t.S/Echo", "text/plain", "");
      assertEquals(415, type.statusCode());
      HttpResponse<String> get =
          http.send(to(pair, "/t.S/Echo").GET().build(), HttpResponse.BodyHandlers.ofString());
      assertEquals(405, get.statusCode());
      assertEquals("POST", get.headers().firstValue("allow").orElse(""));
    }
  }

  @Test
  void getCallsWhatHasNoSideEffects() throws Exception {
    try (Pair pair = new Pair(echo().noSideEffects())) {
      HttpResponse<String> answer =
          http.send(
              to(pair, "/t.S/Echo?encoding=raw&message=a%20b").GET().build(),
              HttpResponse.BodyHandlers.ofString());
      assertEquals(200, answer.statusCode());
      assertEquals("a b", answer.body());
    }
  }

  @Test
  void admissionHearsOfTheProtocol() throws Exception {
    StringBuilder heard = new StringBuilder();
    Admission admission =
        arrival -> {
          heard.append(arrival.protocol());
          throw new StatusException(Code.PERMISSION_DENIED, "not you");
        };
    try (Pair pair = new Pair(server -> server.serve(echo()).admission(admission), client -> {})) {
      HttpResponse<String> answer = post(pair, "/t.S/Echo", "application/raw", "hello");
      assertEquals(403, answer.statusCode());
      assertEquals("refused", answer.headers().firstValue("trunk-delivery").orElse(""));
      assertEquals("connect", heard.toString());
    }
  }

  @Test
  void aFieldThatGoesOnInTheNextLineIsRefused() throws Exception {
    String folded =
        "POST /t.S/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/raw\r\n"
            + "Content-Length: 2\r\nMore: a\r\n%s b\r\n\r\nhi";
    try (Pair pair = new Pair(echo())) {
      assertTrue(raw(pair, folded.formatted("").replace(" b", "\tb")).contains(" 400 "));
      assertTrue(raw(pair, folded.formatted("")).startsWith("HTTP/1.1 400 "));
      String whole = folded.formatted("Other:").replace("Host", "Connection: close\r\nHost");
      assertTrue(raw(pair, whole).startsWith("HTTP/1.1 200 "));
    }
  }

  @Test
  void anAnswerThatThereIsNoMemoryForIsAFailure() throws Exception {
    Handler large = Handler.unary(ECHO, (request, call) -> new byte[8 << 20]);
    try (Pair pair = new Pair(server -> server.serve(large).memory(1 << 20), client -> {})) {
      HttpResponse<String> answer = post(pair, "/t.S/Echo", "application/raw", "a");
      assertEquals(429, answer.statusCode());
      assertTrue(answer.body().contains("memory 1048576"), answer.body());
      until(() -> Pair.await(pair.server.gauges()).heldBytes() == 0, "memory is held on");
    }
  }

  @Test
  void aRequestThatThereIsNoMemoryForIsRefused() throws Exception {
    try (Pair pair = new Pair(server -> server.serve(echo()).memory(1 << 20), client -> {})) {
      HttpResponse<String> answer = post(pair, "/t.S/Echo", "application/raw", "x".repeat(8 << 20));
      assertEquals(429, answer.statusCode());
      assertEquals("refused", answer.headers().firstValue("trunk-delivery").orElse(""));
      assertEquals(200, post(pair, "/t.S/Echo", "application/raw", "a").statusCode());
    }
  }

  private static String raw(Pair pair, String request) throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  @Test
  void aServerThatStopsSaysSo() throws Exception {
    try (Pair pair = new Pair(echo())) {
      assertEquals(200, post(pair, "/t.S/Echo", "application/raw", "a").statusCode());
      assertTrue(pair.server.stop(Duration.ofSeconds(30)));
    }
  }
}
