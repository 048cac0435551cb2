package io.trunkcall.consul;

import com.fasterxml.jackson.core.JsonToken;
import io.trunkcall.registry.Account;
import io.trunkcall.registry.Entry;
import io.trunkcall.registry.Watcher;
import java.io.IOException;
import java.io.InputStream;
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
  private static final long BETWEEN = 20; // ms from one answer that has all instances to the next
  private static final Map<String, byte[]> NOTHING = Map.of();

  private final Agent agent;
  private final String service;
  private final Duration answered;
  private final Account account = new Account();
  private Map<String, byte[]> known = NOTHING; // the records by id, as Consul told them last

  InstanceLooking(Agent agent, String service) {
    this(agent, service, BlockingQuery.ANSWERED);
  }

  /** One that has each answer in full within a time. */
  InstanceLooking(Agent agent, String service, Duration answered) {
    this.agent = agent;
    this.service = service;
    this.answered = answered;
  }

  /** Until the thread is interrupted. */
  void watch(Watcher watcher) throws IOException, InterruptedException {
    String what = "health/service/" + service + "?";
    new BlockingQuery(agent, what, false, BETWEEN, answered)
        .run((status, body) -> take(body, watcher));
  }

  /** Tells what is new in an answer, which has all instances. */
  private void take(InputStream body, Watcher watcher) throws IOException {
    Map<String, byte[]> there = new HashMap<>();
    List<Entry> came = new ArrayList<>();
    Answer.readList(
        body,
        JsonToken.START_OBJECT,
        json -> {
          Instance one = Instance.read(json);
          String id = id(one);
          byte[] data = one.data();
          if (one.critical() || there.putIfAbsent(id, data) != null) { // at another agent as well
            return;
          }
          if (!Arrays.equals(data, known.get(id))) {
            came.add(account.put(id, data));
          }
        });
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
