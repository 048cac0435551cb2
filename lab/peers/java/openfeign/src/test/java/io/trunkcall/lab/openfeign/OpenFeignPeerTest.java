package io.trunkcall.lab.openfeign;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.smoke.Smoke;
import java.lang.reflect.Field;
import org.junit.jupiter.api.Test;

class OpenFeignPeerTest {
  @Test
  void answersInEachCodec() throws Exception {
    try (Smoke smoke = Smoke.serve(OpenFeignPeer::new)) {
      for (String connections : new String[] {"2", "4"}) {
        smoke.answers("Say", "--connections", connections);
        smoke.answers("Say", "--connections", connections, "--codec", "protobuf");
        smoke.answers("Echo", "--connections", connections);
      }
    }
  }

  @Test
  void answersWithTheDefaultsOfBoth() throws Exception {
    try (Smoke smoke = Smoke.serve(OpenFeignPeer::new, "--default")) {
      smoke.answers("Say", "--default");
      smoke.answers("Say", "--default", "--codec=protobuf");
      smoke.answers("Echo", "--default");
    }
  }

  @Test
  void mistakesAreOneLineAndAStatus() {
    Smoke.mistakes(OpenFeignPeer::new, "OpenFeign");
    Smoke.refused(
        OpenFeignPeer::new,
        2,
        "--connections does not go with --default",
        "bench",
        "--target",
        "127.0.0.1:1",
        "--connections",
        "2",
        "--default");
  }

  @Test
  void everyFieldButTheListIsSet() throws Exception {
    JsonMessage message = JsonMessage.request();
    assertEquals(BenchMessages.fields().size() + 1, JsonMessage.class.getFields().length);
    for (Field field : JsonMessage.class.getFields()) {
      if (!field.getName().equals("field5")) {
        assertEquals(BenchMessages.fields().get(field.getName()), field.get(message));
      }
    }
    ObjectMapper json = new ObjectMapper();
    assertEquals(
        40, json.readTree(json.writeValueAsString(message)).size(), "each field is in the JSON");
  }
}
