package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HexFormat;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

final class RecordVectorsTest {
  @TestFactory
  Stream<DynamicTest> records() {
    return RegistryVectors.each(
        "records",
        one -> {
          ServiceRecord read =
              ServiceRecord.parse(RegistryVectors.bytes(one.get("input").asText()));
          assertEquals(RegistryVectors.record(one.get("record")), read);
          assertEquals(one.get("written").asText(), RegistryVectors.text(read.toBytes()));
          assertEquals(RegistryVectors.endpoint(one.get("endpoint")), read.toEndpoint());
        });
  }

  @TestFactory
  Stream<DynamicTest> badRecords() {
    return RegistryVectors.each(
        "bad_records",
        one -> {
          byte[] input =
              one.has("hex")
                  ? HexFormat.of().parseHex(one.get("hex").asText())
                  : RegistryVectors.bytes(one.get("input").asText());
          String service = one.get("service").asText();
          String key = one.get("key").asText();
          InvalidRecordException fault =
              assertThrows(
                  InvalidRecordException.class, () -> ServiceRecord.parseAt(service, key, input));
          RegistryVectors.assertTold(one.get("error").asText(), fault);
        });
  }
}
