package io.trunkcall.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.trunkcall.bench.v1.Payload;
import org.junit.jupiter.api.Test;

class BenchMessagesTest {
  @Test
  void theMessageHasTheSizeOfThePublicComparison() {
    assertEquals(581, BenchMessages.request().getSerializedSize());
  }

  @Test
  void theMessageItselfIsNoAnswer() {
    assertThrows(WrongAnswerException.class, () -> BenchMessages.check(BenchMessages.request()));
  }

  @Test
  void bytesOfPayloadsCountUp() throws Exception {
    Payload payload = BenchMessages.payload(300);
    assertEquals(300, payload.getData().size());
    assertEquals((byte) 255, payload.getData().byteAt(255));
    assertEquals((byte) 43, payload.getData().byteAt(299));
    BenchMessages.check(payload, BenchMessages.payload(300));
    assertThrows(
        WrongAnswerException.class, () -> BenchMessages.check(payload, BenchMessages.payload(299)));
  }
}
