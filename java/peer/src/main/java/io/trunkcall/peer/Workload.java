package io.trunkcall.peer;

import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Payload;
import io.trunkcall.Caller;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Call;
import java.util.List;

/**
 * The calls that bench makes. Each answer of a unary method is checked, and the first of a stream.
 */
abstract class Workload {
  static final List<String> METHODS = List.of("Say", "Echo", "EchoStream", "Emit");

  final String method;
  final BenchmarkMessage message = BenchMessages.request();
  final Payload payload;

  /** {@code size} is that of payloads. */
  Workload(String method, int size) {
    this.method = method;
    this.payload = BenchMessages.payload(size);
  }

  /** Whether a call is one message of a stream that goes on. */
  static boolean streams(String method) {
    return method.equals("EchoStream") || method.equals("Emit");
  }

  /** The calls of a caller that waits for each. Streams are opened by this. */
  abstract Call blocking(Caller client);

  /** The calls of a caller that is told of their ends. */
  abstract AsyncCall async(Caller client);

  /** Checks an answer. */
  @FunctionalInterface
  interface Check<R> {
    void check(R answer) throws Exception;
  }
}
