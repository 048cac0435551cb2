package io.trunkcall.codefirst;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;

/** The library that knows the syntax of JSON, as it is set for both directions. */
final class JsonSyntax {
  static final JsonFactory FACTORY = factory();

  private JsonSyntax() {}

  private static JsonFactory factory() {
    // A message's own limit bounds the lengths of what is in it; nesting is counted by the reader.
    StreamReadConstraints lengths =
        StreamReadConstraints.builder()
            .maxNestingDepth(ValueException.MAX_NESTING + 1)
            .maxNumberLength(Integer.MAX_VALUE)
            .maxStringLength(Integer.MAX_VALUE)
            .maxNameLength(Integer.MAX_VALUE)
            .build();
    return new JsonFactoryBuilder()
        // Names that a peer makes up stay out of what the whole process keeps.
        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
        .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
        .streamReadConstraints(lengths)
        // Its buffers belong to no thread: virtual threads are many.
        .recyclerPool(JsonRecyclerPools.newConcurrentDequePool())
        .build();
  }
}
