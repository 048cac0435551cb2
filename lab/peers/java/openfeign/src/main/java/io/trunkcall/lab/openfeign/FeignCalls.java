package io.trunkcall.lab.openfeign;

import com.trunkcall.bench.v1.BenchmarkMessage;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.program.WrongAnswer;
import io.trunkcall.load.Call;
import java.util.Arrays;

/** The calls of one caller; each makes the request anew from a message that is there. */
final class FeignCalls {
  private FeignCalls() {}

  static Call say(JsonClient client) {
    JsonMessage request = JsonMessage.request();
    return () -> {
      JsonMessage answer = client.say(request);
      BenchMessages.check(answer.field1, answer.field2);
    };
  }

  static Call say(ProtobufClient client) {
    BenchmarkMessage request = BenchMessages.request();
    return () -> BenchMessages.check(client.say(request));
  }

  static Call echo(EchoClient client, int size) {
    byte[] request = BenchMessages.data(size);
    return () -> {
      byte[] answer = client.echo(request);
      if (!Arrays.equals(answer, request)) {
        throw WrongAnswer.ofBytes(answer.length);
      }
    };
  }
}
