package io.trunkcall.lab.openfeign;

import com.google.protobuf.InvalidProtocolBufferException;
import com.trunkcall.bench.v1.BenchmarkMessage;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.load.Work;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** The methods of the benchmark service that HTTP/1.1 can carry, as a controller. */
@EnableAutoConfiguration
@RestController
public class BenchController {
  private final Work work;

  BenchController(Work work) {
    this.work = work;
  }

  /** Say in JSON. */
  @PostMapping(
      path = "/say",
      consumes = MediaType.APPLICATION_JSON_VALUE,
      produces = MediaType.APPLICATION_JSON_VALUE)
  public JsonMessage say(@RequestBody JsonMessage message) {
    message.field1 = BenchMessages.answerText();
    message.field2 = work.answer();
    return message;
  }

  /** Say in Protobuf. */
  @PostMapping(path = "/say", consumes = ProtobufCodec.TYPE, produces = ProtobufCodec.TYPE)
  public byte[] say(@RequestBody byte[] message) throws InvalidProtocolBufferException {
    return BenchMessages.answer(BenchmarkMessage.parseFrom(message), work).toByteArray();
  }

  /** Echo of bytes as they are. */
  @PostMapping(
      path = "/echo",
      consumes = MediaType.APPLICATION_OCTET_STREAM_VALUE,
      produces = MediaType.APPLICATION_OCTET_STREAM_VALUE)
  public byte[] echo(@RequestBody byte[] data) {
    return data;
  }
}
