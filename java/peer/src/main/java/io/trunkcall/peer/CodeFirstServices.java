package io.trunkcall.peer;

import io.trunkcall.Code;
import io.trunkcall.Handler;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import io.trunkcall.codefirst.SeveralResults;
import java.util.ArrayList;
import java.util.List;

/** The services without a .proto file that serve has. */
final class CodeFirstServices {
  private CodeFirstServices() {}

  static List<Handler> handlers() {
    List<Handler> all = new ArrayList<>(CodeFirst.handlers(new Calc()));
    all.addAll(CodeFirst.handlers(new Hello()));
    return all;
  }

  /** The service calc. */
  @RemoteService("calc")
  static final class Calc {
    /** The quotient, rounded towards zero, and the remainder. */
    @RemoteMethod
    public Division div(long dividend, long divisor) {
      if (divisor == 0) {
        throw new StatusException(Code.INVALID_ARGUMENT, "division by zero");
      }
      return new Division(dividend / divisor, dividend % divisor);
    }
  }

  /** The results of a division. */
  @SeveralResults
  record Division(long quotient, long remainder) {}

  /** The service hello. */
  @RemoteService("hello")
  static final class Hello {
    /** Its arguments. */
    @RemoteMethod
    public Said say(String text, long a, long b, double x) {
      return new Said(text, a, b, x);
    }
  }

  /** What was said. */
  @SeveralResults
  record Said(String text, long a, long b, double x) {}
}
