package io.trunkcall.consul;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.trunkcall.registry.Account;
import io.trunkcall.registry.Entry;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Watcher;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a watcher knows of a service. Consul tells of a change by telling all; what of that is new
 * the watcher finds out. Used by one thread.
 */
final class InstanceLooking {
  private static final Duration WAITS = Duration.ofSeconds(60); // for a change
  // Consul itself waits up to a sixteenth longer.
  private static final Duration ANSWERED = WAITS.plus(WAITS.dividedBy(16)).plus(Agent.ANSWERED);
  private static final long AT_LEAST = 20; // ms from one question to the next
  private static final Map<String, byte[]> NOTHING = Map.of();

  private final Agent agent;
  private final String service;
  private final Duration answered;
  private final Account account = new Account();
  private Map<String, byte[]> known = NOTHING; // the records by id, as Consul told them last

  InstanceLooking(Agent agent, String service) {
    this(agent, service, ANSWERED);
  }

  /** One that has each answer in full within a time. */
  InstanceLooking(Agent agent, String service, Duration answered) {
    this.agent = agent;
    this.service = service;
    this.answered = answered;
  }

  /** Until the thread is interrupted. */
  void watch(Watcher watcher) throws IOException, InterruptedException {
    long index = 0;
    while (true) {
      // At first consistent, or a server that has just been started may tell of its past.
      long asked = System.nanoTime();
      String how =
          index == 0 ? "?consistent" : "?index=" + index + "&wait=" + WAITS.toSeconds() + "s";
      HttpResponse<InputStream> answer = agent.get("health/service/" + service + how, answered);
      try (InputStream body = answer.body()) {
        if (answer.statusCode() != Agent.OK) {
          throw Agent.refused(answer.statusCode(), body);
        }
        long next = index(answer);
        if (next > index) {
          take(body, watcher);
        }
        index = next < index ? 0 : next; // less: Consul has begun anew, and is not believed
      }
      Thread.sleep(Math.max(AT_LEAST - (System.nanoTime() - asked) / 1_000_000, 0));
    }
  }

  private static long index(HttpResponse<?> answer) throws RegistryException {
    String said = answer.headers().firstValue("X-Consul-Index").orElse("");
    try {
      return Math.max(Long.parseLong(said), 1);
    } catch (NumberFormatException none) {
      throw new RegistryException("Consul's answer has the index \"" + said + "\"");
    }
  }

  /** Tells what is new in an answer, which has all instances. */
  private void take(InputStream body, Watcher watcher) throws IOException {
    Map<String, byte[]> there = new HashMap<>();
    List<Entry> came = new ArrayList<>();
    try (JsonParser json = Instance.JSON.createParser(body)) {
      json.nextToken();
      Instance.expect(json, JsonToken.START_ARRAY);
      while (json.nextToken() == JsonToken.START_OBJECT) {
        Instance one = Instance.read(json);
        String id = id(one);
        byte[] data = one.data();
        if (one.critical() || there.putIfAbsent(id, data) != null) { // another agent has it as well
          continue;
        }
        if (!Arrays.equals(data, known.get(id))) {
          came.add(account.put(id, data));
        }
      }
      Instance.expect(json, JsonToken.END_ARRAY);
    } catch (JacksonException broken) {
      throw new RegistryException("Consul's answer: " + broken.getOriginalMessage(), broken);
    }
    List<String> went = known.keySet().stream().filter(id -> !there.containsKey(id)).toList();
    went.forEach(account::remove);
    boolean first = known == NOTHING;
    known = there;
    if (first) {
      watcher.all(came);
    } else if (!came.isEmpty() || !went.isEmpty()) {
      watcher.change(came, went);
    }
  }

  /** What others have registered is rubbish under its own name, which is no id. */
  private String id(Instance one) {
    String begin = service + "/";
    return one.id().startsWith(begin) ? one.id().substring(begin.length()) : "consul:" + one.id();
  }
}
