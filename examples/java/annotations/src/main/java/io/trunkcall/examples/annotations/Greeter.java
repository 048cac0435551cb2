package io.trunkcall.examples.annotations;

import io.trunkcall.codefirst.CallPolicy;
import io.trunkcall.codefirst.Callback;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import java.util.concurrent.CompletableFuture;

/** The service as its callers see it. Whether a call is waited for, the method's type says. */
@RemoteClient(service = "hello", target = "localhost:4000")
@CallPolicy(timeout = "30s")
public interface Greeter {
  Said say(String text, int count, int step, double pitch);

  @RemoteMethod("say")
  CompletableFuture<Said> startSay(String text, int count, int step, double pitch);

  @RemoteMethod("say")
  void sayThen(String text, int count, int step, double pitch, Callback<Said> done);

  Division div(long dividend, long divisor);

  @CallPolicy(timeout = "100ms")
  void dawdle();
}
