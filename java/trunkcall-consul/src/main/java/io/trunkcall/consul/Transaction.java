package io.trunkcall.consul;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonToken;
import io.trunkcall.registry.RegistryException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.http.HttpResponse;

/** Changes of keys that Consul makes together, or not at all. Used by one thread. */
final class Transaction {
  private static final int CONFLICT = 409;
  private static final int MOST_SAID = 64 << 10; // bytes of why it refuses
  // Consul takes 64 changes and 512 KiB. So there is room for the longest record, and what it
  // replaces.
  private static final int MANY = 30;
  private static final int LONG = 256 << 10; // bytes
  private static final int MOST = 60;

  private final ByteArrayOutputStream to = new ByteArrayOutputStream();
  private final JsonGenerator json;
  private int changes;
  private String last = ""; // the key that was named last

  Transaction() throws IOException {
    json = Answer.JSON.createGenerator(to, JsonEncoding.UTF8);
    json.writeStartArray();
  }

  /** Deletes a key, if it is as it was seen. */
  void delete(String key, long index) throws IOException {
    begin("delete-cas", key);
    json.writeNumberField("Index", index);
    end();
  }

  /** Writes a key that a session holds, if no other one does. */
  void lock(String key, byte[] value, String session) throws IOException {
    begin("lock", key);
    json.writeBinaryField("Value", value);
    json.writeStringField("Session", session);
    end();
  }

  private void begin(String verb, String key) throws IOException {
    json.writeStartObject();
    json.writeObjectFieldStart("KV");
    json.writeStringField("Verb", verb);
    json.writeStringField("Key", key);
    last = key;
    changes++;
  }

  private void end() throws IOException {
    json.writeEndObject();
    json.writeEndObject();
  }

  /** Whether it is time to have it carried out. */
  boolean isLong() throws IOException {
    json.flush();
    return changes >= MANY || to.size() >= LONG;
  }

  /** Whether it takes no more. */
  boolean isFull() {
    return changes >= MOST;
  }

  /** Has it carried out. Throws RegistryException, with what Consul says, where it was not. */
  void commit(Agent agent) throws IOException, InterruptedException {
    json.writeEndArray();
    json.close();
    HttpResponse<InputStream> answer = agent.tell("txn", to.toByteArray(), Agent.ANSWERED);
    try (InputStream said = answer.body()) {
      int status = answer.statusCode();
      if (status == CONFLICT) {
        throw new RegistryException("Consul refuses to write " + last + reasons(said));
      }
      if (status != Agent.OK) {
        throw Agent.refused(status, said);
      }
      said.transferTo(OutputStream.nullOutputStream());
    }
  }

  private static String reasons(InputStream said) throws IOException {
    StringBuilder reasons = new StringBuilder();
    Answer.read(
        new ByteArrayInputStream(said.readNBytes(MOST_SAID)),
        json -> {
          Answer.expect(json, JsonToken.START_OBJECT);
          while (json.nextToken() == JsonToken.FIELD_NAME) {
            boolean errors = json.currentName().equals("Errors");
            boolean several = json.nextToken() == JsonToken.START_ARRAY;
            while (errors && several && json.nextToken() == JsonToken.START_OBJECT) {
              reasons.append(": ").append(Answer.text(json, "What"));
            }
            json.skipChildren();
          }
        });
    return reasons.toString();
  }
}
