package io.trunkcall.lab.openfeign;

import io.trunkcall.lab.program.BenchMessages;
import java.lang.reflect.Field;
import java.util.List;

/** The benchmark message as a class for JSON. */
public final class JsonMessage {
  public String field1;
  public int field2;
  public int field3;
  public String field4;
  public List<Long> field5;
  public Integer field6;
  public String field7;
  public String field9;
  public Boolean field12;
  public Boolean field13;
  public Boolean field14;
  public Integer field16;
  public Boolean field17;
  public String field18;
  public Long field22;
  public Integer field23;
  public Boolean field24;
  public Integer field25;
  public Integer field29;
  public Boolean field30;
  public Boolean field59;
  public Integer field60;
  public Integer field67;
  public Integer field68;
  public Boolean field78;
  public Boolean field80;
  public Boolean field81;
  public Integer field100;
  public Integer field101;
  public String field102;
  public String field103;
  public Integer field104;
  public Integer field128;
  public String field129;
  public Integer field130;
  public Integer field131;
  public Integer field150;
  public Integer field271;
  public Integer field272;
  public Integer field280;

  /** The message as clients send it. */
  static JsonMessage request() {
    JsonMessage message = new JsonMessage();
    BenchMessages.fields()
        .forEach(
            (name, value) -> {
              try {
                Field field = JsonMessage.class.getField(name);
                field.set(message, value);
              } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("the class has other fields than the message", e);
              }
            });
    message.field5 = List.of();
    return message;
  }
}
