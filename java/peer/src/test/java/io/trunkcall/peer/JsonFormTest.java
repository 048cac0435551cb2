package io.trunkcall.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.rpc.ErrorInfo;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.example.v1.GetUserRequest;
import io.trunkcall.Code;
import io.trunkcall.Status;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonFormTest {
  private static final String URL = "type.googleapis.com/";

  @Test
  void messagesAreTightAndLeaveDefaultsOut() {
    assertEquals("{}", JsonForm.line(GetUserRequest.getDefaultInstance()));
    assertEquals(
        "{\"userId\":\"7\"}", JsonForm.line(GetUserRequest.newBuilder().setUserId(7).build()));
  }

  @Test
  void bothNamesOfAFieldAndBothFormsOfANumberAreRead() {
    for (String text : List.of("{\"userId\":7}", "{\"user_id\":\"7\"}")) {
      GetUserRequest.Builder request = GetUserRequest.newBuilder();
      JsonForm.read(text, request);
      assertEquals(7, request.getUserId());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "{", "{}x", "[]", "{'userId':1}", "{\"userId\":1,}", "{\"nobody\":1}"})
  void whatIsNoMessageIsToldSo(String text) {
    assertThrows(
        IllegalArgumentException.class, () -> JsonForm.read(text, GetUserRequest.newBuilder()));
  }

  @Test
  void aMessageThatLacksARequiredFieldIsNone() {
    assertThrows(
        IllegalArgumentException.class, () -> JsonForm.read("{}", BenchmarkMessage.newBuilder()));
  }

  @Test
  void detailsOfKnownTypesAreShownAndOthersAsBase64() {
    byte[] info = ErrorInfo.newBuilder().setReason("x").build().toByteArray();
    Status status =
        Status.of(Code.ABORTED, "")
            .withDetails(
                List.of(
                    new Status.Detail(URL + "google.rpc.ErrorInfo", info),
                    new Status.Detail(URL + "nobody.Knows", new byte[] {1, 2, -1}),
                    new Status.Detail(URL + "google.rpc.ErrorInfo", new byte[] {-1}),
                    new Status.Detail("", new byte[0])));
    assertEquals(
        "[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"x\"},"
            + "{\"@type\":\"type.googleapis.com/nobody.Knows\",\"value\":\"AQL/\"},"
            + "{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"value\":\"/w==\"},"
            + "{\"@type\":\"\",\"value\":\"\"}]",
        JsonForm.tight(JsonForm.details(status)));
  }
}
