package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import java.util.List;
import org.junit.jupiter.api.Test;

class DetailsTest {
  private static final Duration SECOND = Duration.newBuilder().setSeconds(1).build();

  private static Status status(Status.Detail... details) {
    return Status.of(Code.ABORTED, "why").withDetails(List.of(details));
  }

  @Test
  void aDetailIsFoundByItsType() {
    Status status =
        status(Details.of(Timestamp.getDefaultInstance()), Details.of(SECOND), Details.of(SECOND));
    assertEquals(SECOND, Details.find(status, Duration.getDefaultInstance()));
    assertEquals("type.googleapis.com/google.protobuf.Duration", status.details().get(1).typeUrl());
  }

  @Test
  void onlyWhatFollowsTheLastSlashOfTheTypeCounts() {
    Status.Detail other = new Status.Detail("example.com/a/google.protobuf.Duration", new byte[0]);
    assertEquals(
        Duration.getDefaultInstance(), Details.find(status(other), Duration.getDefaultInstance()));
  }

  @Test
  void whatIsNotThereOrCannotBeReadIsNull() {
    assertNull(Details.find(status(), Duration.getDefaultInstance()));
    assertNull(Details.find(status(Details.of(SECOND)), Timestamp.getDefaultInstance()));
    Status.Detail cut = new Status.Detail("x/google.protobuf.Duration", new byte[] {8});
    assertNull(Details.find(status(cut), Duration.getDefaultInstance()));
  }
}
