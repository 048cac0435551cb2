package io.trunkcall.consul;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A key of Consul's, and what stands there.
 *
 * @param index of its last change
 */
record Pair(String key, byte[] value, long index) {
  private static final byte[] NOTHING = {};

  /** Reads one; the parser stands at its begin. */
  static Pair read(JsonParser json) throws IOException {
    @Nullable String key = null;
    byte[] value = NOTHING;
    long index = 0;
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      JsonToken token = json.nextToken();
      switch (name) {
        case "Key" -> {
          Answer.expect(json, JsonToken.VALUE_STRING);
          key = json.getText();
        }
        case "Value" -> {
          if (token != JsonToken.VALUE_NULL) { // which is how an empty one is told
            Answer.expect(json, JsonToken.VALUE_STRING);
            value = json.getBinaryValue();
          }
        }
        case "ModifyIndex" -> {
          Answer.expect(json, JsonToken.VALUE_NUMBER_INT);
          index = json.getLongValue();
        }
        default -> json.skipChildren();
      }
    }
    if (key == null) {
      throw Answer.form();
    }
    return new Pair(key, value, index);
  }
}
