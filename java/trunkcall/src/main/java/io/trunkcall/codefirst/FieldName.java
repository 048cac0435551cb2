package io.trunkcall.codefirst;

import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.SerializedString;
import java.nio.charset.StandardCharsets;

/** The public name of a record's field, in the forms that the codecs write. */
final class FieldName {
  final String text;
  final byte[] utf8;
  final SerializableString json;

  FieldName(String text) {
    this.text = text;
    this.utf8 = text.getBytes(StandardCharsets.UTF_8);
    this.json = new SerializedString(text);
  }
}
