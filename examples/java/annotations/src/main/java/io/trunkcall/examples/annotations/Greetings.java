package io.trunkcall.examples.annotations;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;

/** What is served: the methods with an annotation, by their public names hello/say and so on. */
@RemoteService("hello")
public final class Greetings {
  @RemoteMethod("say")
  public Said greet(String text, int count, int step, double pitch) {
    return new Said(text + "!", count + 1, step, pitch);
  }

  @RemoteMethod
  public Division div(long dividend, long divisor) {
    if (divisor == 0) {
      throw new StatusException(Code.INVALID_ARGUMENT, "division by zero");
    }
    return new Division(dividend / divisor, dividend % divisor);
  }

  @RemoteMethod
  public void dawdle() throws InterruptedException {
    Thread.sleep(60_000); // interrupted when its caller's time is over
  }

  /** Has no annotation: nobody can call it from outside. */
  public String password() {
    return "s3cret";
  }
}
