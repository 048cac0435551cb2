package io.trunkcall.consul;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonToken;
import io.trunkcall.registry.RegistryException;
import io.trunkcall.registry.Written;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/** Publishes records as keys that a session holds (registry.md 10.5). Used by one thread. */
final class KeyKeeping {
  private static final int RENEWS = 3; // in a lease
  // Consul's bounds of a session's time, behind whose end it waits as long again.
  private static final long LEAST_TTL = 10; // s
  private static final String LOCK_DELAY = "1ms"; // 0 is 15 s
  private static final Duration WITHDRAWN = Duration.ofSeconds(5);
  private static final int MOST_STANDING = 100_000; // keys of one id
  private static final Pattern SESSION = Pattern.compile("[A-Za-z0-9-]{1,64}");
  private static final byte[] NOTHING = {};

  private final Agent agent;
  private final String root;
  private final Duration lease;
  private final List<Written> records;
  private String session = ""; // none

  KeyKeeping(Agent agent, String root, Duration lease, List<Written> records) {
    this.agent = agent;
    this.root = root;
    this.lease = lease;
    this.records = records;
  }

  /** Until the thread is interrupted; then it withdraws them. */
  void keep(Runnable published) throws IOException, InterruptedException {
    try {
      List<List<Pair>> there = new ArrayList<>();
      for (Written one : records) {
        there.add(replaced(one));
      }
      session = begin();
      put(there);
      published.run();
      while (true) {
        Thread.sleep(lease.toMillis() / RENEWS);
        renew();
      }
    } catch (InterruptedException end) {
      withdraw();
    } catch (IOException fault) {
      if (!Thread.interrupted()) { // who is, while it reads an answer, is told so by a fault
        throw fault;
      }
      withdraw();
    }
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

  /** What a session is made with. */
  static byte[] wanted(Duration lease) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (JsonGenerator json = Answer.JSON.createGenerator(to, JsonEncoding.UTF8)) {
      json.writeStartObject();
      json.writeStringField("Name", "trunkcall");
      json.writeStringField("Behavior", "delete");
      json.writeStringField("LockDelay", LOCK_DELAY);
      json.writeStringField("TTL", Math.max((lease.toSeconds() + 1) / 2, LEAST_TTL) + "s");
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
  private void put(List<List<Pair>> standing) throws IOException, InterruptedException {
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

  /** Says that the server is alive. Throws if the session is over, or a record is lost. */
  private void renew() throws IOException, InterruptedException {
    Duration within = lease.compareTo(Agent.ANSWERED) < 0 ? lease : Agent.ANSWERED;
    HttpResponse<InputStream> answer = agent.tell("session/renew/" + session, NOTHING, within);
    try (InputStream body = answer.body()) {
      int status = answer.statusCode();
      if (status == Agent.NOT_FOUND) {
        throw new RegistryException("the session is over");
      }
      if (status != Agent.OK) {
        throw Agent.refused(status, body);
      }
    }
    for (Written one : records) {
      check(one, within);
    }
  }

  /** Throws if a record is not there, or not the first of its id, which is the one that counts. */
  private void check(Written one, Duration within) throws IOException, InterruptedException {
    List<String> first = new ArrayList<>();
    look(
        one,
        within,
        there -> {
          if (first.isEmpty() && isName(one, there)) {
            if (counts(one, there)) {
              one.checkReplaces(there.value()); // of who has written at the same time
            }
            boolean own = Arrays.equals(there.value(), one.data());
            first.add(own ? there.key() : "");
          }
        });
    if (!first.equals(List.of(key(one)))) {
      throw new RegistryException(one + " was removed, or written by somebody else");
    }
  }

  /** Ends the session, with which go the keys that it holds. */
  private void withdraw() throws IOException, InterruptedException {
    if (!session.isEmpty()) {
      agent.put("session/destroy/" + session, NOTHING, WITHDRAWN);
    }
  }
}
