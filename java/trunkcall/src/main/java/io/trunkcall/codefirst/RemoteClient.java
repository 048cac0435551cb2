package io.trunkcall.codefirst;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * An interface by which a service is called. Each of its methods calls the remote one of its name,
 * or of that which {@link RemoteMethod} gives, in one of three forms:
 *
 * <pre>{@code
 * @RemoteClient(service = "calc", target = "calc.example.com:4000")
 * public interface Calculator {
 *   Division div(long dividend, long divisor); // waits
 *
 *   @RemoteMethod("div")
 *   CompletableFuture<Division> divAsync(long dividend, long divisor);
 *
 *   @RemoteMethod("div")
 *   void div(long dividend, long divisor, Callback<Division> done);
 * }
 * }</pre>
 *
 * <p>Behind the arguments, ahead of a callback, it may take {@link io.trunkcall.CallOptions}. Its
 * default methods are its own.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface RemoteClient {
  /**
   * The public name of the service. If it is empty, that of a {@link RemoteService} at the same
   * interface, else the lowerCamelCase of the interface's.
   */
  String service() default "";

  /** Where the service is found; empty: {@link RemoteClients} is told. */
  String target() default "";
}
