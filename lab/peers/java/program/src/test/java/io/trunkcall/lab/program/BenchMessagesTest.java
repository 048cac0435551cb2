package io.trunkcall.lab.program;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import com.trunkcall.bench.v1.BenchmarkMessage;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Untimed;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import java.util.List;
import org.junit.jupiter.api.Test;

class BenchMessagesTest {
  private static Work work(String... words) throws UsageError {
    Flags flags = new Flags("test");
    Flags.Value<Work> work = Work.flag(flags);
    flags.parse(List.of(words));
    return work.get();
  }

  @Test
  void theRequestHasItsSizeAndIsNoAnswer() {
    BenchmarkMessage request = BenchMessages.request();
    assertEquals(BenchMessages.SIZE, request.getSerializedSize());
    assertThrows(WrongAnswer.class, () -> BenchMessages.check(request));
  }

  @Test
  void theAnswerPassesTheCheck() throws Exception {
    BenchmarkMessage answer = BenchMessages.answer(BenchMessages.request(), work());
    assertEquals(527, answer.getSerializedSize());
    assertDoesNotThrow(() -> BenchMessages.check(answer));
  }

  @Test
  void anAnswerThatTookLongToComputeIsNotTimed() throws Exception {
    Work work = work("--handler", "compute");
    BenchmarkMessage request = BenchMessages.request();
    int untimed = 0;
    for (int call = 0; call < 200; call++) {
      try {
        BenchMessages.check(BenchMessages.answer(request, work));
      } catch (Untimed e) {
        untimed++;
      }
    }
    assertEquals(2, untimed);
  }

  @Test
  void otherBytesAreAWrongAnswer() {
    ByteString sent = BenchMessages.payload(300).getData();
    assertEquals((byte) 255, sent.byteAt(255));
    assertEquals((byte) 0, sent.byteAt(256));
    assertDoesNotThrow(() -> BenchMessages.checkData(sent, sent));
    assertThrows(WrongAnswer.class, () -> BenchMessages.checkData(sent.substring(1), sent));
  }
}
