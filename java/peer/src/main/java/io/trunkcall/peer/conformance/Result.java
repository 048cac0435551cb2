package io.trunkcall.peer.conformance;

import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.Observed;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a call ended. */
final class Result {
  final List<Answer> answers = new ArrayList<>();

  /** Of a code-first call. */
  @Nullable Object results;

  Metadata header = Metadata.EMPTY;
  Metadata trailer = Metadata.EMPTY;
  @Nullable Status failure;

  /** Its future was cancelled, which has no status. */
  boolean givenUp;

  @Nullable Observed observed;
}
