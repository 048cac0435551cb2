package io.trunkcall.peer.publicsuite;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.List;

/** What a message of the suite has, by the names of its fields. */
record Parts(Message message) {
  private FieldDescriptor field(String name) {
    FieldDescriptor found = message.getDescriptorForType().findFieldByName(name);
    if (found == null) {
      throw new IllegalArgumentException(
          message.getDescriptorForType().getFullName() + " has no field " + name);
    }
    return found;
  }

  private Object get(String field) {
    return message.getField(field(field));
  }

  boolean has(String field) {
    return message.hasField(field(field));
  }

  boolean isTrue(String field) {
    return (Boolean) get(field);
  }

  /** A number of 32 bits; one without a sign is negative if it has the highest bit. */
  int number(String field) {
    return (Integer) get(field);
  }

  /** The number of a value of an enum. */
  int choice(String field) {
    return ((EnumValueDescriptor) get(field)).getNumber();
  }

  String text(String field) {
    return (String) get(field);
  }

  ByteString bytes(String field) {
    return (ByteString) get(field);
  }

  Parts part(String field) {
    return new Parts((Message) get(field));
  }

  List<Parts> parts(String field) {
    return all(field).stream().map(one -> new Parts((Message) one)).toList();
  }

  /** The values of a repeated field. */
  List<?> all(String field) {
    return (List<?>) get(field);
  }
}
