package io.trunkcall.peer.conformance;

import com.google.protobuf.ByteString;
import com.trunkcall.conformance.v1.Seen;
import io.trunkcall.ServerCall;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;

/** What a handler sees of its call. Used by the handler's thread. */
final class Sight {
  private final Seen.Builder told = Seen.newBuilder();
  private final MessageDigest digest = sha256();

  Sight(ServerCall call) {
    told.addAllMetadata(CaseData.toEntries(call.metadata()));
    Duration left = call.timeRemaining();
    if (left != null) {
      told.setLeftMs((int) left.plusNanos(999_999).toMillis());
    }
  }

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }

  void add(ByteString data) {
    told.setRequests(told.getRequests() + 1);
    told.setBytes(told.getBytes() + data.size());
    digest.update(data.asReadOnlyByteBuffer());
  }

  /** What was seen so far. */
  Seen tell() {
    try {
      MessageDigest soFar = (MessageDigest) digest.clone();
      return told.clone().setDigest(ByteString.copyFrom(soFar.digest())).build();
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException(e); // that of the JDK can be
    }
  }
}
