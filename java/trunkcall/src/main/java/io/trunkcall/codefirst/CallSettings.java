package io.trunkcall.codefirst;

import io.trunkcall.CallOptions;
import io.trunkcall.Policy;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What {@link CallPolicy} says of a method of a client's interface. */
record CallSettings(
    @Nullable Duration timeout,
    @Nullable Boolean waitForReady,
    @Nullable Boolean repeat,
    ValueCodec.Form form,
    CallOptions options) {
  private static final Pattern DURATION = Pattern.compile("(\\d{1,9}(?:\\.\\d{1,9})?)(ms|s|m|h)");
  private static final Map<String, Long> NANOSECONDS =
      Map.of("ms", 1_000_000L, "s", 1_000_000_000L, "m", 60_000_000_000L, "h", 3_600_000_000_000L);

  /** Throws IllegalArgumentException for a timeout that is none. */
  static CallSettings of(Class<?> type, Method method) {
    CallPolicy own = method.getAnnotation(CallPolicy.class);
    CallPolicy all = type.getAnnotation(CallPolicy.class);
    Duration timeout = own == null ? null : duration(own.timeout());
    Boolean wait = own == null ? null : said(own.waitForReady());
    Boolean repeat = own == null ? null : said(own.repeat());
    CallPolicy.CarriedAs codec = own == null ? CallPolicy.CarriedAs.UNSAID : own.codec();
    if (all != null) {
      timeout = timeout == null ? duration(all.timeout()) : timeout;
      wait = wait == null ? said(all.waitForReady()) : wait;
      repeat = repeat == null ? said(all.repeat()) : repeat;
      codec = codec == CallPolicy.CarriedAs.UNSAID ? all.codec() : codec;
    }
    ValueCodec.Form form =
        codec == CallPolicy.CarriedAs.JSON ? ValueCodec.Form.JSON : ValueCodec.Form.MESSAGE_PACK;
    return of(timeout, wait, repeat, form);
  }

  private static CallSettings of(
      @Nullable Duration timeout,
      @Nullable Boolean wait,
      @Nullable Boolean repeat,
      ValueCodec.Form form) {
    return new CallSettings(timeout, wait, repeat, form, with(CallOptions.NONE, timeout, wait));
  }

  /** What policies say, the first of them first, and these where they say nothing. */
  CallSettings under(List<Policy> policies) {
    CallSettings all = this;
    for (int at = policies.size() - 1; at >= 0; at--) {
      Policy one = policies.get(at);
      all =
          of(
              one.timeout() == null ? all.timeout : one.timeout(),
              one.waitForReady() == null ? all.waitForReady : one.waitForReady(),
              one.repeat() == null ? all.repeat : one.repeat(),
              form);
    }
    return all;
  }

  private static CallOptions with(
      CallOptions options, @Nullable Duration timeout, @Nullable Boolean wait) {
    CallOptions all = timeout == null ? options : options.withTimeout(timeout);
    return wait == null ? all : all.withWaitForReady(wait);
  }

  /** The options of a call, and these where they say nothing. */
  CallOptions under(CallOptions own) {
    return with(
        own, own.saysTimeout() ? null : timeout, own.waitForReady() == null ? waitForReady : null);
  }

  private static @Nullable Boolean said(CallPolicy.Choice choice) {
    return choice == CallPolicy.Choice.UNSAID ? null : choice == CallPolicy.Choice.YES;
  }

  private static @Nullable Duration duration(String text) {
    if (text.isEmpty()) {
      return null;
    }
    Matcher parts = DURATION.matcher(text);
    Long unit = parts.matches() ? NANOSECONDS.get(parts.group(2)) : null;
    if (unit == null) {
      throw new IllegalArgumentException(
          "timeout \"" + text + "\": want a number and ms, s, m or h, as in 1.5s");
    }
    Duration timeout =
        Duration.ofNanos(
            new BigDecimal(parts.group(1)).multiply(BigDecimal.valueOf(unit)).longValue());
    if (timeout.isZero()) {
      throw new IllegalArgumentException("timeout \"" + text + "\": want more than 0");
    }
    return timeout;
  }
}
