package io.trunkcall.consul;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonParser;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Written;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Publishes records at an agent, each with a check that is renewed. Used by one thread. */
final class InstanceKeeping extends Keeping {
  private static final long WITHDRAWN = 5_000_000_000L; // ns that it may take

  private final List<Written> records;

  InstanceKeeping(Agent agent, Duration lease, List<Written> records) {
    super(agent, lease);
    this.records = records;
  }

  /** Registers the records, unless one is another server's that is alive. */
  @Override
  void put() throws IOException, InterruptedException {
    for (Written one : records) {
      Instance there = ask("agent/health/service/id/" + Instance.key(one), Agent.ANSWERED);
      if (there != null && !there.critical()) {
        one.checkReplaces(there.data());
      }
    }
    for (Written one : records) {
      agent.put(
          "agent/service/register?replace-existing-checks=true",
          Instance.registration(one, lease),
          Agent.ANSWERED);
    }
  }

  /** What the agent has; null if there is none. */
  private @Nullable Instance ask(String what, Duration within)
      throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = agent.get(what, within);
    try (InputStream body = answer.body()) {
      int status = answer.statusCode();
      if (status == Agent.NOT_FOUND) {
        return null;
      }
      // Of one whose checks do not pass the agent answers 429 or 503, with the same.
      boolean found = status == Agent.OK || status == 429 || status == 503;
      String type = answer.headers().firstValue("Content-Type").orElse("");
      if (!found || !type.contains("json")) {
        throw Agent.refused(status, body);
      }
      try (JsonParser json = Answer.JSON.createParser(body)) {
        json.nextToken();
        return Instance.read(json);
      }
    } catch (JacksonException broken) {
      throw new RegistryException("Consul's answer: " + broken.getOriginalMessage(), broken);
    }
  }

  @Override
  Duration renew() throws IOException, InterruptedException {
    Duration within = lease.compareTo(Agent.ANSWERED) < 0 ? lease : Agent.ANSWERED;
    for (Written one : records) {
      agent.put("agent/check/pass/" + Instance.check(one), NOTHING, within);
      if (!isOwn(one, within)) {
        throw new RegistryException(one + " was written by somebody else");
      }
    }
    return third();
  }

  private boolean isOwn(Written one, Duration within) throws IOException, InterruptedException {
    Instance there = ask("agent/service/" + Instance.key(one), within);
    return there != null && Arrays.equals(there.data(), one.data());
  }

  /** Deregisters what is still its own. */
  @Override
  void withdraw() throws IOException, InterruptedException {
    long until = System.nanoTime() + WITHDRAWN;
    for (Written one : records) {
      // At least some time, since none would be refused.
      Duration left = Duration.ofNanos(Math.max(until - System.nanoTime(), 1_000_000));
      if (isOwn(one, left)) {
        agent.put("agent/service/deregister/" + Instance.key(one), NOTHING, left);
      }
    }
  }
}
