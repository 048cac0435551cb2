package io.trunkcall.registry;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads a record (registry.md 2.5). Used once. */
final class RecordReader {
  private static final String NO_OBJECT = "not a JSON object";
  private static final int MOST_LEVELS = 32;
  private static final JsonFactory FACTORY = factory();

  private final JsonParser json;
  private final Map<Member, String> texts = new HashMap<>();
  private final List<String> addresses = new ArrayList<>();
  private final Map<String, String> attributes = new HashMap<>();
  private final Set<Member> refused = EnumSet.noneOf(Member.class); // of another type
  private int weight = 1;

  private RecordReader(JsonParser json) {
    this.json = json;
  }

  private static JsonFactory factory() {
    // What bounds all lengths is that of a record.
    StreamReadConstraints bounds =
        StreamReadConstraints.builder()
            .maxNestingDepth(MOST_LEVELS)
            .maxNumberLength(RecordWriter.MOST_RECORD)
            .build();
    return new JsonFactoryBuilder()
        // Names that others make up stay out of what the whole process keeps.
        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
        .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .streamReadConstraints(bounds)
        .recyclerPool(JsonRecyclerPools.newConcurrentDequePool())
        .build();
  }

  /** Throws InvalidRecordException. */
  static ServiceRecord read(byte[] bytes) {
    if (bytes.length > RecordWriter.MOST_RECORD) {
      throw new InvalidRecordException(RecordWriter.tooLong(bytes.length));
    }
    RecordReader reader;
    try (JsonParser json = FACTORY.createParser(text(bytes))) {
      reader = new RecordReader(json);
      reader.object();
    } catch (IOException fault) {
      String why = String.valueOf(fault.getMessage());
      throw new InvalidRecordException(NO_OBJECT + ": " + why.lines().findFirst().orElse(""));
    }
    return reader.record();
  }

  private static String text(byte[] bytes) throws IOException {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException fault) {
      throw new IOException("it is not UTF-8", fault);
    }
  }

  private void object() throws IOException {
    if (json.nextToken() != JsonToken.START_OBJECT) {
      throw new IOException("no object begins it");
    }
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = whole(json.currentName());
      json.nextToken();
      member(Member.of(name));
    }
    if (json.nextToken() != null) {
      throw new IOException("something stands behind it");
    }
  }

  private void member(@Nullable Member member) throws IOException {
    if (member == null) {
      skip();
    } else if (member == Member.ADDRESSES) {
      addresses();
    } else if (member == Member.ATTRIBUTES) {
      attributes();
    } else if (member == Member.WEIGHT) {
      weight();
    } else if (json.currentToken() == JsonToken.VALUE_STRING) {
      texts.put(member, whole(json.getText()));
    } else {
      refuse(member);
    }
  }

  private void refuse(Member member) throws IOException {
    refused.add(member);
    skip();
  }

  /** Reads to the end of a value of any kind. */
  private void skip() throws IOException {
    int depth = 0;
    while (true) {
      JsonToken token = json.currentToken();
      if (token == null) {
        throw new IOException("it ends too soon");
      } else if (token.isStructStart()) {
        depth++;
      } else if (token.isStructEnd()) {
        depth--;
      } else if (token == JsonToken.FIELD_NAME || token == JsonToken.VALUE_STRING) {
        whole(json.getText());
      }
      if (depth == 0) {
        return;
      }
      json.nextToken();
    }
  }

  /** A text that UTF-8 has bytes for. */
  private static String whole(String text) throws IOException {
    if (!Names.isWhole(text)) {
      throw new IOException("a text has half a character");
    }
    return text;
  }

  private void weight() throws IOException {
    String digits = json.currentToken() == JsonToken.VALUE_NUMBER_INT ? json.getText() : "-";
    if (digits.length() <= 7 && digits.charAt(0) >= '1') {
      weight = Integer.parseInt(digits);
    } else {
      refuse(Member.WEIGHT);
    }
  }

  private void addresses() throws IOException {
    if (json.currentToken() != JsonToken.START_ARRAY) {
      refuse(Member.ADDRESSES);
      return;
    }
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (json.currentToken() == JsonToken.VALUE_STRING) {
        addresses.add(whole(json.getText()));
      } else {
        refuse(Member.ADDRESSES);
      }
    }
  }

  private void attributes() throws IOException {
    if (json.currentToken() != JsonToken.START_OBJECT) {
      refuse(Member.ATTRIBUTES);
      return;
    }
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = whole(json.currentName());
      if (json.nextToken() == JsonToken.VALUE_STRING) {
        attributes.put(name, whole(json.getText()));
      } else {
        refuse(Member.ATTRIBUTES);
      }
    }
  }

  private ServiceRecord record() {
    ServiceRecord read =
        new ServiceRecord(
            texts.getOrDefault(Member.SERVICE, ""),
            texts.getOrDefault(Member.ID, ""),
            addresses,
            texts.getOrDefault(Member.SERVER_NAME, ""),
            weight,
            texts.getOrDefault(Member.ZONE, ""),
            texts.getOrDefault(Member.VERSION, ""),
            attributes);
    for (Member member : Member.values()) {
      String fault = refused.contains(member) ? member.fault() : RecordWriter.fault(member, read);
      if (fault != null) {
        throw new InvalidRecordException(fault);
      }
    }
    return read;
  }
}
