package io.trunkcall.spring.app;

import io.trunkcall.codefirst.CallPolicy;
import io.trunkcall.codefirst.Callback;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import java.util.concurrent.CompletableFuture;

/** What calls it. */
@RemoteClient(service = "calc", target = "${calc.target}")
public interface CalculatorClient {
  /** Waits. */
  long div(long dividend, long divisor);

  /** Does not wait. */
  @RemoteMethod("div")
  CompletableFuture<Long> divAsync(long dividend, long divisor);

  /** Is called back. */
  @RemoteMethod("div")
  void div(long dividend, long divisor, Callback<Long> done);

  /** See {@link Calculator#served}. */
  @CallPolicy(timeout = "1000s")
  String served();
}
