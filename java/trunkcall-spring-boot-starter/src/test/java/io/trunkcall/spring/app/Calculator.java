package io.trunkcall.spring.app;

import io.trunkcall.Code;
import io.trunkcall.ServerCall;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import org.springframework.stereotype.Component;

/** A service that is found. */
@Component
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

  /** The thread that serves it, and its deadline in seconds, -1 without one. */
  @RemoteMethod
  public String served(ServerCall call) {
    long left = call.timeRemaining() == null ? -1 : call.timeRemaining().toSeconds();
    return Thread.currentThread().getName() + " " + left;
  }
}
