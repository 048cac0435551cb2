package io.trunkcall.load;

import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a run found. Times are in microseconds; latencies cover all calls but the untimed, however
 * they ended.
 *
 * @param answeredP50 of those calls alone that did not fail, as answeredP99
 * @param attempts for a call; 0 if they were not counted
 * @param firstError null if there was none
 */
public record Result(
    long calls,
    long errors,
    double seconds,
    double rate,
    double mean,
    double p50,
    double p90,
    double p95,
    double p99,
    double p999,
    double max,
    double cpu,
    double answeredP50,
    double answeredP99,
    double attempts,
    Throwable firstError) {
  /** The share of the rate asked for that still counts as kept, as in the lab's reports. */
  private static final double KEPT_UP = 0.97;

  static Result of(
      Recorder answered,
      Recorder unanswered,
      long untimed,
      long errors,
      Throwable first,
      long nanos,
      long cpu) {
    Recorder recorded = Recorder.both(answered, unanswered);
    long calls = recorded.count() + untimed;
    double seconds = nanos / 1e9;
    return new Result(
        calls,
        errors,
        seconds,
        calls == 0 ? 0 : calls / seconds,
        recorded.mean() / 1e3,
        recorded.percentile(50) / 1e3,
        recorded.percentile(90) / 1e3,
        recorded.percentile(95) / 1e3,
        recorded.percentile(99) / 1e3,
        recorded.percentile(99.9) / 1e3,
        recorded.max() / 1e3,
        calls == 0 ? 0 : cpu / 1e3 / calls,
        answered.percentile(50) / 1e3,
        answered.percentile(99) / 1e3,
        0,
        first);
  }

  /** The same, with how many attempts all of its calls, and those before them, have made. */
  public Result withAttempts(long made, long before) {
    double each = calls == 0 ? 0 : (double) made / (before + calls);
    return new Result(
        calls,
        errors,
        seconds,
        rate,
        mean,
        p50,
        p90,
        p95,
        p99,
        p999,
        max,
        cpu,
        answeredP50,
        answeredP99,
        each,
        firstError);
  }

  /** A line of JSON, with the keys that every program prints. */
  public String json() {
    Map<String, String> figures = new LinkedHashMap<>();
    figures.put("calls", Long.toString(calls));
    figures.put("errors", Long.toString(errors));
    figures.put("seconds", rounded(seconds, 6));
    figures.put("rate", rounded(rate, 3));
    figures.put("mean_us", rounded(mean, 3));
    figures.put("p50_us", rounded(p50, 3));
    figures.put("p90_us", rounded(p90, 3));
    figures.put("p95_us", rounded(p95, 3));
    figures.put("p99_us", rounded(p99, 3));
    figures.put("p999_us", rounded(p999, 3));
    figures.put("max_us", rounded(max, 3));
    figures.put("cpu_us", rounded(cpu, 3));
    figures.put("answered_p50_us", rounded(answeredP50, 3));
    figures.put("answered_p99_us", rounded(answeredP99, 3));
    if (attempts > 0) {
      figures.put("attempts", rounded(attempts, 6));
    }
    return figures.entrySet().stream()
        .map(figure -> '"' + figure.getKey() + "\":" + figure.getValue())
        .collect(Collectors.joining(",", "{", "}"));
  }

  private static String rounded(double value, int digits) {
    return BigDecimal.valueOf(value).setScale(digits, RoundingMode.HALF_UP).toPlainString();
  }

  /**
   * Prints the line, and on stderr what went wrong; returns the exit status.
   *
   * @param asked the rate that was asked for, 0 for none
   */
  public int tell(String program, double asked, PrintStream out, PrintStream err) {
    out.println(json());
    boolean lost = out.checkError(); // which flushes
    if (rate > 0 && rate < KEPT_UP * asked) {
      err.printf("%s: fell behind: %.0f/s of %.0f/s%n", program, rate, asked);
    }
    if (calls == 0) {
      err.printf("%s: no call was made%n", program);
    } else if (errors > 0) {
      err.printf(
          "%s: %d of %d calls failed, the first with: %s%n",
          program, errors, calls, Failed.told(firstError));
    }
    if (lost) {
      err.printf("%s: nobody takes the result%n", program);
    }
    return lost || errors == calls ? 1 : 0;
  }
}
