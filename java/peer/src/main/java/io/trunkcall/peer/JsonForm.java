package io.trunkcall.peer;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.util.JsonFormat;
import com.google.rpc.ErrorDetailsProto;
import io.trunkcall.Status;
import java.io.IOException;
import java.io.StringReader;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Messages in Protobuf's JSON form, on one line, in and out. */
public final class JsonForm {
  private static final Gson TIGHT =
      new GsonBuilder().disableHtmlEscaping().serializeNulls().create();
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().omittingInsignificantWhitespace();
  private static final JsonFormat.Parser PARSER = JsonFormat.parser();

  // The standard details of statuses, by the names of their types.
  private static final Map<String, Descriptor> DETAILS = new HashMap<>();

  static {
    addDetails(ErrorDetailsProto.getDescriptor().getMessageTypes());
  }

  private JsonForm() {}

  private static void addDetails(List<Descriptor> types) {
    for (Descriptor type : types) {
      DETAILS.put(type.getFullName(), type);
      addDetails(type.getNestedTypes());
    }
  }

  /** A message on one line. */
  public static String line(MessageOrBuilder message) {
    return tight(object(message));
  }

  /** A message as a value of JSON. */
  public static JsonObject object(MessageOrBuilder message) {
    try {
      return JsonParser.parseString(PRINTER.print(message)).getAsJsonObject();
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e); // an Any of an unknown type
    }
  }

  /** JSON without white space between its parts. */
  public static String tight(JsonElement value) {
    return TIGHT.toJson(value);
  }

  /**
   * Fills in a message, all of whose required fields must be there.
   *
   * @throws IllegalArgumentException that says what is wrong
   */
  public static void read(String text, Message.Builder message) {
    String name = message.getDescriptorForType().getFullName();
    try {
      parse(text);
      PARSER.merge(text, message);
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      throw new IllegalArgumentException("the JSON is no " + name + ": " + e.getMessage(), e);
    }
    List<String> missing = message.findInitializationErrors();
    if (!missing.isEmpty()) {
      throw new IllegalArgumentException(
          "the JSON is no " + name + ": it lacks " + String.join(", ", missing));
    }
  }

  /**
   * One value of JSON, by the letter of the standard.
   *
   * @throws IllegalArgumentException that says what is wrong
   */
  public static JsonElement parse(String text) {
    JsonReader reader = new JsonReader(new StringReader(text));
    reader.setStrictness(Strictness.STRICT);
    try {
      JsonElement value = JsonParser.parseReader(reader);
      if (reader.peek() != JsonToken.END_DOCUMENT) {
        throw new IllegalArgumentException("there is something behind it");
      }
      return value;
    } catch (MalformedJsonException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    } catch (JsonParseException | IOException e) {
      throw new IllegalArgumentException(String.valueOf(e.getMessage()), e);
    }
  }

  /** The details of a status, each in the JSON form of google.protobuf.Any. */
  static JsonArray details(Status status) {
    JsonArray all = new JsonArray();
    for (Status.Detail detail : status.details()) {
      all.add(detail(detail.typeUrl(), detail.value()));
    }
    return all;
  }

  /**
   * A detail. One of a type that is not known here, or whose bytes are not of the type that they
   * claim, is shown as base64.
   */
  private static JsonObject detail(String typeUrl, byte[] value) {
    JsonObject shown = new JsonObject();
    shown.addProperty("@type", typeUrl);
    Descriptor type = DETAILS.get(typeUrl.substring(typeUrl.lastIndexOf('/') + 1));
    if (type != null) {
      try {
        JsonObject known = object(DynamicMessage.parseFrom(type, value));
        known.entrySet().forEach(entry -> shown.add(entry.getKey(), entry.getValue()));
        return shown;
      } catch (InvalidProtocolBufferException e) {
        // shown as the bytes that it is
      }
    }
    shown.addProperty("value", Base64.getEncoder().encodeToString(value));
    return shown;
  }
}
