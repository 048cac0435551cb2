package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
  void aServerThatStopsSaysSo() throws Exception {
    try (Pair pair = new Pair(echo())) {
      assertEquals(200, post(pair, "/t.S/Echo", "application/raw", "a").statusCode());
      assertTrue(pair.server.stop(Duration.ofSeconds(30)));
    }
  }
}
