package io.trunkcall.peer.publicsuite;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;

/** A message of the suite that is being made, by the names of its fields. */
record Made(Message.Builder builder) {
  private FieldDescriptor field(String name) {
    FieldDescriptor found = builder.getDescriptorForType().findFieldByName(name);
    if (found == null) {
      throw new IllegalArgumentException(
          builder.getDescriptorForType().getFullName() + " has no field " + name);
    }
    return found;
  }

  Made set(String field, Object value) {
    builder.setField(field(field), value);
    return this;
  }

  Made add(String field, Object value) {
    builder.addRepeatedField(field(field), value);
    return this;
  }

  /** Sets a field of an enum, by the number of a value. */
  Made choose(String field, int number) {
    return set(field, field(field).getEnumType().findValueByNumber(number));
  }

  /** An empty message for a field, which is not set by this. */
  Made part(String field) {
    return new Made(builder.newBuilderForField(field(field)));
  }

  Message message() {
    return builder.build();
  }
}
