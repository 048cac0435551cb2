package io.trunkcall.registries;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A server in a process of its own that is asked over HTTP. */
abstract class HttpProcess implements RegistryProcess {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  final Path folder;
  final int port;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private Process process;

  HttpProcess(Path folder) throws IOException {
    this.folder = folder;
    this.port = RegistryProcess.port();
  }

  abstract List<String> words();

  /** Whether it serves by now. */
  abstract boolean answers() throws Exception;

  String ask(String method, String path, String body) throws Exception {
    return ask(method, path, body, "");
  }

  /** The same; {@code none}, unless that is empty, where nothing is found. */
  String ask(String method, String path, String body, String none) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .timeout(PATIENCE)
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() == 404 && !none.isEmpty()) {
      return none;
    }
    if (answer.statusCode() != 200) {
      throw new IOException(method + " " + path + ": " + answer.statusCode() + answer.body());
    }
    return answer.body();
  }

  @Override
  public void start() throws Exception {
    File log = folder.resolve("log").toFile();
    process =
        new ProcessBuilder(words())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log))
            .start();
    for (long end = System.nanoTime() + PATIENCE.toNanos(); ; ) {
      try {
        if (answers()) {
          return;
        }
      } catch (IOException notYet) {
        // It is asked again.
      }
      if (System.nanoTime() > end || !process.isAlive()) {
        throw new IOException("it does not answer: " + log);
      }
      Thread.sleep(20);
    }
  }

  @Override
  public void stop() throws Exception {
    process.destroyForcibly();
    if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      throw new IOException("it does not end");
    }
  }

  @Override
  public void close() throws Exception {
    stop();
  }
}
