package io.trunkcall.lab.program;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Payload;
import io.trunkcall.load.Untimed;
import io.trunkcall.load.Work;
import java.util.LinkedHashMap;
import java.util.Map;

/** The 581-byte message of the benchmarks, what the server does with it, and payloads. */
public final class BenchMessages {
  /** The encoded size of the message that {@link #request} makes. */
  public static final int SIZE = 581;

  /** Bounds what a request to Emit can have made for it. */
  public static final int MAX_EMIT = 16 << 20;

  private static final String TEXT = "许多往事在眼前一幕一幕，变的那麼模糊";
  private static final int NUMBER = 100000;
  private static final String ANSWER_TEXT = "OK";

  private BenchMessages() {}

  /** The message as clients send it: all fields are set, but the repeated one stays empty. */
  public static BenchmarkMessage request() {
    BenchmarkMessage.Builder message = BenchmarkMessage.newBuilder();
    for (FieldDescriptor field : BenchmarkMessage.getDescriptor().getFields()) {
      if (!field.isRepeated()) {
        message.setField(field, value(field));
      }
    }
    return message.build();
  }

  /** Its fields by their names, for other representations of it. */
  public static Map<String, Object> fields() {
    Map<String, Object> values = new LinkedHashMap<>();
    request().getAllFields().forEach((field, value) -> values.put(field.getName(), value));
    return values;
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
  public static BenchmarkMessage answer(BenchmarkMessage request, Work work) {
    return request.toBuilder().setField1(ANSWER_TEXT).setField2(work.answer()).build();
  }

  /** The same for a message in another representation: its first field. */
  public static String answerText() {
    return ANSWER_TEXT;
  }

  public static void check(BenchmarkMessage answer) throws WrongAnswer, Untimed {
    check(answer.getField1(), answer.getField2());
  }

  public static void check(String field1, int field2) throws WrongAnswer, Untimed {
    if (!ANSWER_TEXT.equals(field1) || field2 != Work.ANSWER && field2 != Work.ANSWER_LONG) {
      throw new WrongAnswer(
          String.format(
              "the answer has field1 \"%s\" and field2 %d, not \"%s\" and %d",
              field1, field2, ANSWER_TEXT, Work.ANSWER));
    }
    if (field2 == Work.ANSWER_LONG) {
      throw Untimed.INSTANCE;
    }
  }

  /** What Echo is sent. */
  public static Payload payload(int size) {
    return Payload.newBuilder().setData(ByteString.copyFrom(data(size))).build();
  }

  public static byte[] data(int size) {
    byte[] data = new byte[size];
    for (int i = 0; i < size; i++) {
      data[i] = (byte) i;
    }
    return data;
  }

  public static void checkData(ByteString got, ByteString want) throws WrongAnswer {
    if (!got.equals(want)) {
      throw WrongAnswer.ofBytes(got.size());
    }
  }
}
