package io.trunkcall.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ResultTest {
  private static Result result(long errors, Throwable first, long... samples) {
    Recorder recorder = new Recorder();
    recorder.add(samples, samples.length);
    return Result.of(recorder, new Recorder(), 0, errors, first, 2_000_000_000L, 40_000);
  }

  private record Told(int status, String out, String err) {}

  private static Told told(Result result, double rate) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int status =
        result.tell("program", rate, new PrintStream(out, true), new PrintStream(err, true));
    return new Told(status, out.toString(), err.toString());
  }

  @Test
  void theFiguresFollowFromTheSamples() {
    Result result = result(0, null, LongStream.rangeClosed(1, 1000).map(n -> n * 1000).toArray());
    assertEquals(1000, result.calls());
    assertEquals(500, result.rate());
    assertEquals(500.5, result.mean());
    // The histogram keeps three digits.
    assertEquals(500, result.p50(), 0.5);
    assertEquals(990, result.p99(), 1);
    assertEquals(999, result.p999(), 1);
    assertEquals(1000, result.max());
    assertEquals(0.04, result.cpu(), 1e-9);
  }

  @Test
  void theLineHasTheKeysThatTheLabReads() {
    assertEquals(
        "{\"calls\":2,\"errors\":0,\"seconds\":2.000000,\"rate\":1.000,\"mean_us\":1.500,"
            + "\"p50_us\":1.000,\"p90_us\":2.000,\"p95_us\":2.000,\"p99_us\":2.000,"
            + "\"p999_us\":2.000,\"max_us\":2.000,\"cpu_us\":20.000,"
            + "\"answered_p50_us\":1.000,\"answered_p99_us\":2.000}",
        result(0, null, 1000, 2000).json());
  }

  @Test
  void ofNoCallsAllIsZero() {
    Told told = told(result(0, null), 0);
    assertEquals(1, told.status());
    assertEquals("program: no call was made" + System.lineSeparator(), told.err());
    assertEquals(
        "{\"calls\":0,\"errors\":0,\"seconds\":2.000000,\"rate\":0.000,\"mean_us\":0.000,"
            + "\"p50_us\":0.000,\"p90_us\":0.000,\"p95_us\":0.000,\"p99_us\":0.000,"
            + "\"p999_us\":0.000,\"max_us\":0.000,\"cpu_us\":0.000,"
            + "\"answered_p50_us\":0.000,\"answered_p99_us\":0.000}"
            + System.lineSeparator(),
        told.out());
  }

  @Test
  void failuresAndFallingBehindAreTold() {
    Throwable first = new IllegalStateException("a\n b");
    Told told = told(result(1, first, 1000, 2000), 2);
    assertEquals(0, told.status());
    assertEquals(
        "program: fell behind: 1/s of 2/s%nprogram: 1 of 2 calls failed, the first with: IllegalStateException: a; b%n"
            .formatted(),
        told.err());
    assertEquals(1, told(result(2, first, 1000, 2000), 0).status());
  }

  @Test
  void aResultThatNobodyTakesIsAFailure() {
    OutputStream full =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("no room");
          }
        };
    PrintStream err = new PrintStream(OutputStream.nullOutputStream());
    assertEquals(1, result(0, null, 1000).tell("program", 0, new PrintStream(full), err));
  }
}
