package io.trunkcall.consul;

import io.trunkcall.registry.RegistryException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** An agent's API over HTTP. Any thread may use it. */
final class Agent {
  static final Duration ANSWERED = Duration.ofSeconds(10);

  static final int OK = 200;
  static final int NOT_FOUND = 404;

  private static final int SAID = 300; // bytes of an error

  private final String base;
  private final HttpClient client;
  private final String token;

  Agent(String base, HttpClient client, String token) {
    this.base = base;
    this.client = client;
    this.token = token;
  }

  private HttpRequest.Builder request(String what, Duration within) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(base + "/v1/" + what)).timeout(within);
    return token.isEmpty() ? request : request.header("X-Consul-Token", token);
  }

  /** The answer as a stream that is read within the time. */
  private HttpResponse<InputStream> send(HttpRequest request, Duration within)
      throws IOException, InterruptedException {
    long begun = System.nanoTime();
    try {
      // The request's own time is over with the head of the answer.
      return client.send(request, head -> new TimedBody(begun, within));
    } catch (IllegalArgumentException broken) { // a head with a length that is no number
      throw new RegistryException("Consul's answer is no HTTP: " + broken.getMessage(), broken);
    } catch (ConnectException | HttpConnectTimeoutException unreached) {
      throw new RegistryException("Consul: " + this + ": " + reason(unreached), unreached);
    }
  }

  /** Why there is no connection, which the library often says by types only. */
  private static String reason(Throwable unreached) {
    for (Throwable one = unreached; one != null; one = one.getCause()) {
      if (one instanceof UnresolvedAddressException) {
        return "unknown host";
      }
      String said = one.getMessage();
      if (said != null && !said.isEmpty()) {
        return said;
      }
    }
    return "Connection refused";
  }

  /**
   * Asks, and is answered with what is there, whatever its status. The body is to be closed, and
   * fails when the time is over.
   */
  HttpResponse<InputStream> get(String what, Duration within)
      throws IOException, InterruptedException {
    return send(request(what, within).GET().build(), within);
  }

  /** Has something done, and is answered, whatever the status, as by {@link #get}. */
  HttpResponse<InputStream> tell(String what, byte[] body, Duration within)
      throws IOException, InterruptedException {
    return send(
        request(what, within).PUT(HttpRequest.BodyPublishers.ofByteArray(body)).build(), within);
  }

  /** Has something done. Throws RegistryException if it was not. */
  void put(String what, byte[] body, Duration within) throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = tell(what, body, within);
    try (InputStream said = answer.body()) {
      if (answer.statusCode() != OK) {
        throw refused(answer.statusCode(), said);
      }
    }
  }

  /** What an answer is that is not the wanted one. */
  static RegistryException refused(int status, InputStream said) throws IOException {
    String text = new String(said.readNBytes(SAID), StandardCharsets.UTF_8).strip();
    return new RegistryException("Consul answers " + status + ": " + text);
  }

  @Override
  public String toString() {
    return base.substring(base.indexOf("//") + 2);
  }
}
