package io.trunkcall.lab.thrift;

import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.thrift.generated.BenchmarkMessage;
import io.trunkcall.lab.thrift.generated.BenchmarkMessage._Fields;

/**
 * Thrift's message, filled with what the Protobuf message holds: the fields have the same names.
 */
final class ThriftMessage {
  private ThriftMessage() {}

  static BenchmarkMessage request() {
    BenchmarkMessage message = new BenchmarkMessage();
    BenchMessages.fields()
        .forEach((name, value) -> message.setFieldValue(_Fields.findByName(name), value));
    return message;
  }
}
