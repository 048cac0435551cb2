package io.trunkcall.consul;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonToken;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Written;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;

/** Publishes records as keys that a session holds (registry.md 10.5). Used by one thread. */
final class KeyKeeping extends Keeping {
  // Consul's bounds of a session's time.
  private static final long LEAST_TTL = 10; // s
  private static final int UNTIL_OVER = 2; // times of a session have passed when Consul ends it
  private static final String LOCK_DELAY = "1ms"; // 0 is 15 s
  // What an answer to a renewal may take at least, however short the lease.
  private static final Duration LEAST_ANSWER = Duration.ofSeconds(1);
  private static final Duration WITHDRAWN = Duration.ofSeconds(5);
  private static final int MOST_STANDING = 100_000; // keys of one id
  private static final Pattern SESSION = Pattern.compile("[A-Za-z0-9-]{1,64}");

  private final String root;
  private final List<Written> records;
  private final LongSupplier clock;
  private String session = ""; // none
  private long good; // ns, when all was last known to be as it should
  private int next; // of the records, the one to look at next

  KeyKeeping(Agent agent, String root, Duration lease, List<Written> records) {
    this(agent, root, lease, records, System::nanoTime);
  }

  /** With a clock of nanoseconds. */
  KeyKeeping(Agent agent, String root, Duration lease, List<Written> records, LongSupplier clock) {
    super(agent, lease);
    this.root = root;
    this.records = records;
    this.clock = clock;
  }

  @Override
  void put() throws IOException, InterruptedException {
    List<List<Pair>> there = new ArrayList<>();
    for (Written one : records) {
      there.add(replaced(one));
    }
    session = begin();
    good = clock.getAsLong();
    write(there);
  }

  /** Makes a session, and returns its id. */
  private String begin() throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = agent.tell("session/create", wanted(lease), Agent.ANSWERED);
    try (InputStream body = answer.body()) {
      if (answer.statusCode() != Agent.OK) {
        throw Agent.refused(answer.statusCode(), body);
      }
      String[] id = {""};
      Answer.read(body, json -> id[0] = Answer.text(json, "ID"));
      if (!SESSION.matcher(id[0]).matches()) {
        throw Answer.form();
      }
      return id[0];
    }
  }

  /** The time of a session, in seconds. */
  private static long ttl(Duration lease) {
    return Math.max((lease.toSeconds() + 1) / 2, LEAST_TTL);
  }

  /** What a session is made with. */
  static byte[] wanted(Duration lease) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (JsonGenerator json = Answer.JSON.createGenerator(to, JsonEncoding.UTF8)) {
      json.writeStartObject();
      json.writeStringField("Name", "trunkcall");
      json.writeStringField("Behavior", "delete");
      json.writeStringField("LockDelay", LOCK_DELAY);
      json.writeStringField("TTL", ttl(lease) + "s");
      // Not bound to the agent's own health, which others doubt sooner than the server.
      for (String checks : List.of("NodeChecks", "Checks")) {
        json.writeArrayFieldStart(checks);
        json.writeEndArray();
      }
      json.writeEndObject();
    }
    return to.toByteArray();
  }

  /** Writes the records in place of what stands there. */
  private void write(List<List<Pair>> standing) throws IOException, InterruptedException {
    Transaction writes = new Transaction();
    for (int i = 0; i < records.size(); i++) {
      Written one = records.get(i);
      for (Pair there : standing.get(i)) {
        if (writes.isFull()) { // of rubbish that somebody has put there
          writes.commit(agent);
          writes = new Transaction();
        }
        writes.delete(there.key(), there.index());
      }
      writes.lock(key(one), one.data(), session);
      if (writes.isLong() || i == records.size() - 1) {
        writes.commit(agent);
        writes = new Transaction();
      }
    }
  }

  private String key(Written one) {
    return root
        + "/"
        + one.record().service()
        + "/"
        + Listing.nameOf(one.record().id(), one.data());
  }

  /** Whether what stands at a key is what its name says. */
  private boolean counts(Written one, Pair there) {
    String name = Listing.nameOf(one.record().id(), there.value());
    return there.key().equals(root + "/" + one.record().service() + "/" + name);
  }

  /** Whether a key is one of a record's id, and not rubbish beside these. */
  private boolean isName(Written one, Pair there) {
    String above = root + "/" + one.record().service() + "/";
    return there.key().startsWith(above)
        && one.record().id().equals(Listing.idIn(there.key().substring(above.length())));
  }

  /** Takes what there is of a record's id, in Consul's order. */
  private void look(Written one, Duration within, Looked looked)
      throws IOException, InterruptedException {
    String above = root + "/" + one + "/";
    HttpResponse<InputStream> answer = agent.get("kv/" + above + "?recurse&consistent", within);
    try (InputStream body = answer.body()) {
      int status = answer.statusCode();
      if (status == Agent.NOT_FOUND) {
        return;
      }
      if (status != Agent.OK) {
        throw Agent.refused(status, body);
      }
      Answer.readList(body, JsonToken.START_OBJECT, json -> looked.at(Pair.read(json)));
    }
  }

  private interface Looked {
    void at(Pair there) throws RegistryException;
  }

  /** The keys that a record takes the place of. Throws RegistryException for another server's. */
  private List<Pair> replaced(Written one) throws IOException, InterruptedException {
    List<Pair> found = new ArrayList<>();
    look(
        one,
        Agent.ANSWERED,
        there -> {
          if (counts(one, there)) {
            one.checkReplaces(there.value());
          }
          if (isName(one, there)) {
            found.add(new Pair(there.key(), NOTHING, there.index()));
          }
          if (found.size() > MOST_STANDING) {
            throw new RegistryException("more than " + MOST_STANDING + " keys of " + one);
          }
        });
    return found;
  }

  /**
   * Throws RegistryException if a record is lost, and an IOException if that is not known for so
   * long that the session is over. It may outlive what keeps Consul from answering: a leader that
   * is elected, an agent that starts.
   */
  @Override
  Duration renew() throws IOException, InterruptedException {
    long asked = clock.getAsLong();
    Optional<RegistryException> lost;
    try {
      lost = lost(asked);
    } catch (IOException fault) {
      Duration since = Duration.ofNanos(clock.getAsLong() - good);
      if (Thread.currentThread().isInterrupted() || since.toSeconds() >= UNTIL_OVER * ttl(lease)) {
        throw fault;
      }
      Duration least = Collections.min(List.of(Duration.ofSeconds(1), third()));
      return Collections.max(List.of(third().dividedBy(RENEWS), least));
    }
    if (lost.isPresent()) {
      throw lost.get();
    }
    good = asked;
    return third();
  }

  /** Renews the session, and says why a record is lost. Throws if that is not known. */
  private Optional<RegistryException> lost(long asked) throws IOException, InterruptedException {
    Duration within = Collections.max(List.of(third(), LEAST_ANSWER));
    within = Collections.min(List.of(within, Agent.ANSWERED));
    if (!renewed(within)) {
      return over(within);
    }
    for (int i = 0; i < records.size(); i++) {
      if (i > 0 && clock.getAsLong() - asked >= third().toNanos()) {
        break;
      }
      Written one = records.get(next);
      List<Pair> first = new ArrayList<>(); // the one that counts
      look(
          one,
          within,
          there -> {
            if (first.isEmpty() && isName(one, there)) {
              first.add(there);
            }
          });
      Optional<RegistryException> lost = lost(one, first);
      if (lost.isPresent()) {
        return lost;
      }
      next = (next + 1) % records.size();
    }
    return Optional.empty();
  }

  /** Renews the session. False: Consul says that it is not there. */
  private boolean renewed(Duration within) throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = agent.tell("session/renew/" + session, NOTHING, within);
    try (InputStream body = answer.body()) {
      int status = answer.statusCode();
      if (status != Agent.OK && status != Agent.NOT_FOUND) {
        throw Agent.refused(status, body);
      }
      body.transferTo(OutputStream.nullOutputStream()); // for the connection, which serves again
      return status == Agent.OK;
    }
  }

  /** Looks for a session of which Consul says that it is not there, which may be of its past. */
  private Optional<RegistryException> over(Duration within)
      throws IOException, InterruptedException {
    HttpResponse<InputStream> answer = agent.get("session/info/" + session + "?consistent", within);
    List<String> found = new ArrayList<>();
    try (InputStream body = answer.body()) {
      if (answer.statusCode() != Agent.OK) {
        throw Agent.refused(answer.statusCode(), body);
      }
      Answer.readList(body, JsonToken.START_OBJECT, json -> found.add(Answer.text(json, "ID")));
    }
    if (!found.isEmpty()) {
      throw new RegistryException("Consul does not renew a session that it has");
    }
    return Optional.of(new RegistryException("the session is over"));
  }

  /** Why a record is lost by the key that counts of its id, if there is one. */
  private Optional<RegistryException> lost(Written one, List<Pair> first) {
    for (Pair there : first) {
      if (counts(one, there)) {
        if (Arrays.equals(there.value(), one.data())) {
          return Optional.empty();
        }
        try {
          one.checkReplaces(there.value()); // of who has written at the same time
        } catch (RegistryException taken) {
          return Optional.of(taken);
        }
      }
    }
    return Optional.of(new RegistryException(one + " was removed, or written by somebody else"));
  }

  /** Ends the session, with which go the keys that it holds. */
  @Override
  void withdraw() throws IOException, InterruptedException {
    if (!session.isEmpty()) {
      agent.put("session/destroy/" + session, NOTHING, WITHDRAWN);
    }
  }
}
