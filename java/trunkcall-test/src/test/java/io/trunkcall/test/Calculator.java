package io.trunkcall.test;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import java.util.concurrent.CompletableFuture;

/** A service to test with. */
@RemoteService("calc")
public class Calculator {
  /** The quotient. */
  @RemoteMethod
  public long div(long dividend, long divisor) {
    if (divisor == 0) {
      throw new StatusException(Code.INVALID_ARGUMENT, "a division by zero");
    }
    return dividend / divisor;
  }

  /** What calls it. */
  @RemoteClient(service = "calc", target = "calc.example.com:4000")
  public interface Client {
    /** Waits. */
    long div(long dividend, long divisor);

    /** Does not wait. */
    @RemoteMethod("div")
    CompletableFuture<Long> divAsync(long dividend, long divisor);

    /** Is not served. */
    long mod(long dividend, long divisor);
  }
}
