package io.trunkcall.grpc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.MethodDescriptor.Marshaller;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class StubCodecTest {
  /** Messages that are read when somebody wants them, as gRPC's interceptors have them. */
  private static final class Streams implements Marshaller<InputStream> {
    @Override
    public InputStream stream(InputStream message) {
      return message;
    }

    @Override
    public InputStream parse(InputStream bytes) {
      return bytes;
    }
  }

  @Test
  void aMessageThatIsReadLaterDoesNotChangeWithTheArrayThatItCameIn() throws IOException {
    StubCodec<InputStream> codec =
        new StubCodec<>(new Streams(), UserServiceGrpc.getGetUserMethod());
    byte[] array = "..a message..".getBytes(UTF_8);
    InputStream message = codec.decode(array, 2, 9);
    Arrays.fill(array, (byte) 'x');
    assertEquals("a message", new String(message.readAllBytes(), UTF_8));
    message.reset();
    assertEquals("a message", new String(message.readAllBytes(), UTF_8));
  }
}
