package io.trunkcall.peer;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Payload;
import io.trunkcall.load.Untimed;
import io.trunkcall.load.Work;

/** The 581-byte message of the benchmarks, what the server does with it, and payloads. */
final class BenchMessages {
  /** Bounds what a request to Emit can have made for it. */
  static final int MAX_EMIT = 16 << 20;

  private static final String TEXT = "许多往事在眼前一幕一幕，变的那麼模糊";
  private static final int NUMBER = 100000;
  private static final String ANSWER_TEXT = "OK";

  private BenchMessages() {}

  /** The message as clients send it: all fields are set, but the repeated one stays empty. */
  static BenchmarkMessage request() {
    BenchmarkMessage.Builder message = BenchmarkMessage.newBuilder();
    for (FieldDescriptor field : BenchmarkMessage.getDescriptor().getFields()) {
      if (!field.isRepeated()) {
        message.setField(field, value(field));
      }
    }
    return message.build();
  }

  private static Object value(FieldDescriptor field) {
    return switch (field.getJavaType()) {
      case STRING -> TEXT;
      case BOOLEAN -> true;
      case INT -> NUMBER;
      case LONG -> (long) NUMBER;
      default -> throw new IllegalStateException(field + " is of a type that no other field has");
    };
  }

  /** The answer of Say. */
  static BenchmarkMessage answer(BenchmarkMessage request, Work work) {
    return request.toBuilder().setField1(ANSWER_TEXT).setField2(work.answer()).build();
  }

  /**
   * Checks the answer of Say.
   *
   * @throws Untimed if it is right, and its handler computed for long
   */
  static void check(BenchmarkMessage answer) throws WrongAnswerException, Untimed {
    int number = answer.getField2();
    if (!answer.getField1().equals(ANSWER_TEXT)
        || (number != Work.ANSWER && number != Work.ANSWER_LONG)) {
      throw new WrongAnswerException(
          "the answer has field1 \""
              + answer.getField1()
              + "\" and field2 "
              + number
              + ", not \""
              + ANSWER_TEXT
              + "\" and "
              + Work.ANSWER);
    }
    if (number == Work.ANSWER_LONG) {
      throw Untimed.INSTANCE;
    }
  }

  /** What Echo is sent. */
  static Payload payload(int size) {
    byte[] data = new byte[size];
    for (int i = 0; i < size; i++) {
      data[i] = (byte) i;
    }
    return Payload.newBuilder().setData(ByteString.copyFrom(data)).build();
  }

  /** Checks an answer that is to have the data of {@code sent}. */
  static void check(Payload answer, Payload sent) throws WrongAnswerException {
    if (!answer.getData().equals(sent.getData())) {
      throw new WrongAnswerException(
          answer.getData().size() + " bytes came back that were not sent");
    }
  }
}
