package io.trunkcall.internal.wire;

import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Replays the scripts of sessions: each with its input whole, and byte by byte. */
final class SessionVectorsTest {
  @TestFactory
  Stream<DynamicTest> whole() {
    return Vectors.each(Vectors.scripts(), script -> new ScriptRunner(script, false).run());
  }

  @TestFactory
  Stream<DynamicTest> byteByByte() {
    return Vectors.each(Vectors.scripts(), script -> new ScriptRunner(script, true).run());
  }
}
