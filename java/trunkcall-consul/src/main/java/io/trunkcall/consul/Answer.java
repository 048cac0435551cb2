package io.trunkcall.consul;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.trunkcall.registry.RegistryException;
import java.io.IOException;
import java.io.InputStream;

/** Reads what Consul answers: JSON, of which one value is held at a time. */
final class Answer {
  private static final long MOST = 256 << 20; // bytes

  static final JsonFactory JSON =
      new JsonFactoryBuilder()
          // Names that others make up stay out of what the whole process keeps.
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
          .streamReadConstraints(StreamReadConstraints.builder().maxDocumentLength(MOST).build())
          .build();

  private Answer() {}

  /** Takes a value, at whose begin the parser stands, to its end. */
  interface Taker {
    void take(JsonParser json) throws IOException;
  }

  /** Reads a list of values that begin with a token. */
  static void readList(InputStream body, JsonToken begin, Taker each) throws IOException {
    read(
        body,
        json -> {
          expect(json, JsonToken.START_ARRAY);
          while (json.nextToken() == begin) {
            each.take(json);
          }
          expect(json, JsonToken.END_ARRAY);
        });
  }

  /** Reads one value, behind which there is nothing. */
  static void read(InputStream body, Taker taker) throws IOException {
    try (JsonParser json = JSON.createParser(body)) {
      json.nextToken();
      taker.take(json);
      if (json.nextToken() != null) { // also for the connection, which serves again after an end
        throw form();
      }
    } catch (JacksonException broken) {
      throw new RegistryException("Consul's answer: " + broken.getOriginalMessage(), broken);
    }
  }

  /** A text in an object, at whose begin the parser stands; empty if there is none of the name. */
  static String text(JsonParser json, String name) throws IOException {
    String text = "";
    expect(json, JsonToken.START_OBJECT);
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      boolean wanted = json.currentName().equals(name);
      if (json.nextToken() == JsonToken.VALUE_STRING && wanted) {
        text = json.getText();
      }
      json.skipChildren();
    }
    return text;
  }

  /** Throws RegistryException if the parser stands at something else. */
  static void expect(JsonParser json, JsonToken want) throws RegistryException {
    if (json.currentToken() != want) {
      throw form();
    }
  }

  /** The failure that is an answer which Consul does not give. */
  static RegistryException form() {
    return new RegistryException("Consul's answer is not what it documents");
  }
}
