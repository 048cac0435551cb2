package io.trunkcall.consul;

import com.fasterxml.jackson.core.JsonToken;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Watcher;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Watches a service whose records are keys (registry.md 10.5): has their names told, and asks for
 * the records of new ones. Used by one thread.
 */
final class KeyLooking {
  private static final long BETWEEN = 10; // ms from one list of names to the next
  private static final int ONE_BY_ONE = 50; // new records that are asked for so; of more all are
  private static final int MOST_VALUE = 512 << 10; // bytes, Consul's own bound
  private static final int MOST_NEW = 100_000; // as of entries (registry.md 10.1)

  private final Agent agent;
  private final String prefix;
  private final Duration answered;
  private final Listing listing = new Listing();

  KeyLooking(Agent agent, String root, String service) {
    this(agent, root, service, BlockingQuery.ANSWERED);
  }

  /** One that has each answer in full within a time. */
  KeyLooking(Agent agent, String root, String service, Duration answered) {
    this.agent = agent;
    this.prefix = root + "/" + service + "/";
    this.answered = answered;
  }

  /** Until the thread is interrupted. */
  void watch(Watcher watcher) throws IOException, InterruptedException {
    new BlockingQuery(agent, "kv/" + prefix + "?keys&", true, BETWEEN, answered)
        .run((status, body) -> take(status, body, watcher));
  }

  /** Tells what is new by a list, which has all names. */
  private void take(int status, InputStream body, Watcher watcher)
      throws IOException, InterruptedException {
    listing.begin();
    List<String> wanted = status == Agent.NOT_FOUND ? List.of() : readNames(body);
    if (wanted.size() > ONE_BY_ONE) {
      readAll(new HashSet<>(wanted));
    } else {
      for (String name : wanted) {
        readOne(name);
      }
    }
    boolean first = listing.isFirst();
    List<String> went = listing.end();
    if (first) {
      watcher.all(listing.came());
    } else if (!listing.came().isEmpty() || !went.isEmpty()) {
      watcher.change(listing.came(), went);
    }
  }

  /** The names whose records are wanted. */
  private List<String> readNames(InputStream body) throws IOException {
    List<String> wanted = new ArrayList<>();
    char[] start = prefix.toCharArray();
    Answer.readList(
        body,
        JsonToken.VALUE_STRING,
        json -> {
          char[] text = json.getTextCharacters(); // of which no text is made if it is known
          int from = json.getTextOffset();
          int to = from + json.getTextLength();
          int name = from + start.length;
          boolean within = name <= to && Arrays.equals(text, from, name, start, 0, start.length);
          if (within && listing.take(text, name, to)) {
            wanted.add(new String(text, name, to - name));
          }
          if (wanted.size() > MOST_NEW) {
            throw new RegistryException("more than " + MOST_NEW + " entries");
          }
        });
    return wanted;
  }

  private void readOne(String name) throws IOException, InterruptedException {
    HttpResponse<InputStream> answer =
        agent.get("kv/" + prefix + name + "?raw&consistent", Agent.ANSWERED);
    try (InputStream body = answer.body()) {
      int status = answer.statusCode();
      if (status == Agent.OK) {
        listing.put(name, body.readNBytes(MOST_VALUE + 1));
      } else if (status != Agent.NOT_FOUND) { // it has gone by now
        throw Agent.refused(status, body);
      }
    }
  }

  private void readAll(Set<String> wanted) throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = agent.get("kv/" + prefix + "?recurse&consistent", answered);
    try (InputStream body = answer.body()) {
      int status = answer.statusCode();
      if (status == Agent.NOT_FOUND) { // they have gone by now
        return;
      }
      if (status != Agent.OK) {
        throw Agent.refused(status, body);
      }
      Answer.readList(
          body,
          JsonToken.START_OBJECT,
          json -> {
            Pair one = Pair.read(json);
            String name = one.key().substring(Math.min(prefix.length(), one.key().length()));
            if (wanted.remove(name)) {
              listing.put(name, one.value());
            }
          });
    }
  }
}
