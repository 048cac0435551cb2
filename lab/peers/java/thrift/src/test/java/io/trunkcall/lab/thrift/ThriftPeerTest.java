package io.trunkcall.lab.thrift;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.smoke.Smoke;
import io.trunkcall.lab.thrift.generated.BenchmarkMessage;
import io.trunkcall.lab.thrift.generated.BenchmarkMessage._Fields;
import org.junit.jupiter.api.Test;

class ThriftPeerTest {
  @Test
  void answersInEachOfItsSettings() throws Exception {
    for (String transport : new String[] {"framed", "buffered"}) {
      for (String codec : new String[] {"thrift-binary", "thrift-compact"}) {
        String[] flags = {"--transport", transport, "--codec", codec};
        try (Smoke smoke = Smoke.serve(ThriftPeer::new, flags)) {
          smoke.answers("Say", "--connections=4", flags[0], flags[1], flags[2], flags[3]);
          smoke.answers("Say", "--connections=2", flags[0], flags[1], flags[2], flags[3]);
        }
      }
    }
  }

  @Test
  void mistakesAreOneLineAndAStatus() {
    Smoke.mistakes(ThriftPeer::new, "Thrift");
  }

  @Test
  void everyFieldButTheListIsSet() {
    BenchmarkMessage message = ThriftMessage.request();
    assertEquals(40, _Fields.values().length);
    assertEquals(39, BenchMessages.fields().size());
    for (_Fields field : _Fields.values()) {
      assertEquals(field != _Fields.FIELD5, message.isSet(field), field.getFieldName());
    }
  }
}
