package io.trunkcall.consul;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Written;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class InstanceTest {
  private static String registered(String... addresses) throws IOException {
    Written record = new Written(ServiceRecord.builder("s", "x", addresses).build());
    String said = new String(Instance.registration(record, Duration.ofSeconds(15)), UTF_8);
    int meta = said.indexOf("}\"},"); // the end of the record's own text
    assertTrue(meta > 0, said);
    return said.substring(meta + 4, said.indexOf("\"Check\""));
  }

  @Test
  void whoKnowsOnlyConsulIsToldOfAnAddress() throws IOException {
    assertEquals("\"Address\":\"127.0.0.1\",\"Port\":80,", registered("127.0.0.1:80"));
    assertEquals("\"Address\":\"::1\",\"Port\":80,", registered("[::1]:80"));
    assertEquals("\"Address\":\"b\",\"Port\":65535,", registered("unix:/a", "b:65535"));
    assertEquals("", registered("unix:/a"));
  }
}
