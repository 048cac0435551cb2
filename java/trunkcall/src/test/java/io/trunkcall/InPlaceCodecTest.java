package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.BytesValue;
import com.google.protobuf.MessageLite;
import io.trunkcall.internal.wire.LargeArrays;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Messages that may lie in the bytes that they came in. */
class InPlaceCodecTest {
  private static final Codec<BytesValue> BYTES = Codec.protobuf(BytesValue.getDefaultInstance());
  private static final Method<BytesValue, BytesValue> ECHO =
      Method.bidiStream("test.Bytes/Echo", BYTES, BYTES);
  private static final Method<byte[], byte[]> ECHO_RAW =
      Method.bidiStream("test.Bytes/EchoRaw", Codec.raw(), Codec.raw());

  private static BytesValue value(int length, int seed) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) seed);
    return BytesValue.of(ByteString.copyFrom(bytes));
  }

  /** Whether a message changes with the array that it was read from. */
  private static <M extends MessageLite> boolean liesIn(Codec<M> codec, byte[] array) {
    M message = InPlaceCodec.decoded(codec, array, array.length);
    ByteString before = message.toByteString();
    array[array.length - 1] ^= 1;
    return !message.toByteString().equals(before);
  }

  @Test
  void aMessageThatIsHardlyMoreThanItsBytesIsNotCopied() {
    byte[] array = value(1_024, 7).toByteArray();
    assertEquals(value(1_024, 7), InPlaceCodec.decoded(BYTES, array, array.length));
    assertEquals(true, liesIn(BYTES, array));
  }

  @Test
  void aShortOneIsCopied() {
    assertEquals(false, liesIn(BYTES, value(100, 7).toByteArray()));
  }

  @Test
  void bytesAreCopiedThatAreLittleOfTheirMessage() {
    ByteString twice = value(900, 7).toByteString().concat(value(300, 8).toByteString());
    byte[] array = twice.toByteArray(); // the last one counts
    assertEquals(value(300, 8), InPlaceCodec.decoded(BYTES, array, array.length));
    assertEquals(false, liesIn(BYTES, array));
  }

  @Test
  void aMessageIsCopiedThatHasAnotherFieldThatCouldLieThere() {
    Any any = Any.newBuilder().setTypeUrl("a").setValue(value(1_000, 7).toByteString()).build();
    Codec<Any> codec = Codec.protobuf(Any.getDefaultInstance());
    assertEquals(false, liesIn(codec, any.toByteArray()));
  }

  @Test
  void arraysThatAreUsedAgainAreNoMessages() {
    byte[] array = value(LargeArrays.LEAST, 7).toByteArray();
    assertEquals(false, liesIn(BYTES, array));
  }

  @Test
  void whatIsNoMessageIsRefusedAsElsewhere() {
    byte[] array = value(1_024, 7).toByteArray();
    byte[] behind = Arrays.copyOf(array, array.length + 1);
    behind[array.length] = 12; // the end of a group that did not begin
    for (byte[] wrong : List.of(Arrays.copyOf(array, array.length - 1), behind)) {
      String said =
          assertThrows(IllegalArgumentException.class, () -> BYTES.decode(wrong, 0, wrong.length))
              .getMessage();
      assertEquals(
          said,
          assertThrows(
                  IllegalArgumentException.class,
                  () -> InPlaceCodec.decoded(BYTES, wrong, wrong.length))
              .getMessage());
    }
  }

  @Test
  void rawBytesAreTheArrayItselfIfItIsNoLonger() {
    byte[] array = {1, 2, 3};
    assertSame(array, InPlaceCodec.decoded(Codec.raw(), array, 3));
    byte[] part = InPlaceCodec.decoded(Codec.raw(), array, 2);
    assertNotSame(array, part);
    assertArrayEquals(new byte[] {1, 2}, part);
  }

  @Test
  void messagesOfAStreamStayAsTheyWere() throws Exception {
    int count = 600; // more than are there at once
    try (Pair pair =
        new Pair(
            Handler.bidiStream(
                ECHO,
                (requests, responses, call) -> {
                  List<BytesValue> all = new ArrayList<>();
                  requests.forEach(all::add);
                  for (BytesValue one : all) {
                    responses.send(one);
                  }
                }))) {
      try (ClientStream<BytesValue, BytesValue> stream = pair.client.open(ECHO)) {
        for (int i = 0; i < count; i++) {
          stream.send(value(1_024, i));
        }
        stream.halfClose();
        List<BytesValue> answers = new ArrayList<>();
        for (BytesValue one = stream.receive(); one != null; one = stream.receive()) {
          answers.add(one);
        }
        assertEquals(count, answers.size());
        for (int i = 0; i < count; i++) {
          assertEquals(value(1_024, i), answers.get(i));
        }
      }
    }
  }

  @Test
  void rawMessagesOfAStreamBelongToWhoReceivesThem() throws Exception {
    try (Pair pair =
        new Pair(
            Handler.bidiStream(
                ECHO_RAW,
                (requests, responses, call) -> {
                  for (byte[] one : requests) {
                    responses.send(one);
                    Arrays.fill(one, (byte) 0); // it was sent as it was
                  }
                }))) {
      try (ClientStream<byte[], byte[]> stream = pair.client.open(ECHO_RAW)) {
        List<byte[]> answers = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
          stream.send(new byte[] {(byte) i, 1});
        }
        stream.halfClose();
        for (byte[] one = stream.receive(); one != null; one = stream.receive()) {
          answers.add(one);
        }
        assertEquals(100, answers.size());
        for (int i = 0; i < 100; i++) {
          assertArrayEquals(new byte[] {(byte) i, 1}, answers.get(i));
        }
      }
    }
  }
}
