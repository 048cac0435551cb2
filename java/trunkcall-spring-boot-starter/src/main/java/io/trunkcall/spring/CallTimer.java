package io.trunkcall.spring;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.trunkcall.Call;
import io.trunkcall.Status;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Times calls, by method, kind, code and delivery. */
final class CallTimer {
  private final Meter.MeterProvider<Timer> timers;

  CallTimer(String name, String description, MeterRegistry registry) {
    timers = Timer.builder(name).description(description).withRegistry(registry);
  }

  void time(Call call) {
    long began = System.nanoTime();
    String method = call.method().name();
    String kind = call.method().kind().name().toLowerCase(Locale.ROOT);
    call.onEnd(status -> ended(method, kind, status, System.nanoTime() - began));
  }

  private void ended(String method, String kind, Status status, long nanos) {
    Tags tags =
        Tags.of(
            "method",
            method,
            "kind",
            kind,
            "code",
            status.code().name(),
            "delivery",
            status.delivery().word());
    timers.withTags(tags).record(nanos, TimeUnit.NANOSECONDS);
  }
}
