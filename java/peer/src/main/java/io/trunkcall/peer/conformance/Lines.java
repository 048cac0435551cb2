package io.trunkcall.peer.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.Request;
import io.trunkcall.Status;
import io.trunkcall.peer.CodeFirstCall;
import io.trunkcall.peer.JsonForm;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;

/** The lines of conformance/cases/README.md, section 3. */
final class Lines {
  private Lines() {}

  /** The requests of a call: each a message, or the bytes to send in its place. */
  static List<Object> requests(JsonObject call) {
    List<Object> all = new ArrayList<>();
    if (call.has("arguments")) {
      all.add(CodeFirstCall.arguments(JsonForm.tight(call.get("arguments"))));
    }
    if (call.has("requests")) {
      for (JsonElement line : call.getAsJsonArray("requests")) {
        all.add(request(line.getAsJsonObject()));
      }
    }
    return all;
  }

  private static Object request(JsonObject line) {
    if (line.has("bytes")) {
      return Base64.getDecoder().decode(line.get("bytes").getAsString());
    }
    Request.Builder request = Request.newBuilder();
    if (line.has("message")) {
      JsonForm.read(JsonForm.tight(line.get("message")), request);
    }
    if (line.has("size")) {
      boolean noise = line.has("noise") && line.get("noise").getAsBoolean();
      request.setData(CaseData.make(line.get("size").getAsInt(), noise));
    }
    return request.build();
  }

  /** How a call ended. One whose future was cancelled has no delivery that could be told. */
  static JsonObject outcome(Result result) {
    JsonObject line = new JsonObject();
    Status failure = result.failure;
    JsonArray details = new JsonArray();
    if (result.givenUp) {
      line.addProperty("code", "CANCELLED");
      line.addProperty("message", "");
    } else {
      line.addProperty("code", failure == null ? "OK" : failure.code().name());
      line.addProperty("message", failure == null ? "" : failure.message());
      line.addProperty("delivery", failure == null ? "" : failure.delivery().word());
    }
    if (failure != null) {
      for (Status.Detail detail : failure.details()) {
        JsonObject shown = new JsonObject();
        shown.addProperty("typeUrl", detail.typeUrl());
        shown.addProperty("value", Base64.getEncoder().encodeToString(detail.value()));
        details.add(shown);
      }
    }
    line.add("details", details);
    line.add("header", CaseData.toLines(result.header));
    line.add("trailer", CaseData.toLines(result.trailer));
    JsonArray answers = new JsonArray();
    result.answers.forEach(answer -> answers.add(answer(answer)));
    line.add("answers", answers);
    if (result.results != null) {
      line.add("results", JsonForm.parse(CodeFirstCall.line(result.results)));
    }
    if (result.observed != null) {
      line.add("observed", JsonForm.object(result.observed));
    }
    return line;
  }

  private static JsonObject answer(Answer answer) {
    JsonObject line = JsonForm.object(answer.toBuilder().clearData());
    byte[] sum = Sight.sha256().digest(answer.getData().toByteArray());
    line.addProperty("size", answer.getData().size());
    line.addProperty("sha256", HexFormat.of().formatHex(sum));
    return line;
  }
}
