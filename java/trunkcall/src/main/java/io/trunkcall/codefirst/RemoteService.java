package io.trunkcall.codefirst;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A class whose methods with {@link RemoteMethod} are served, or an interface whose implementations
 * are. Nothing else of it can be reached, and nothing by another name than its public one.
 *
 * <pre>{@code
 * @RemoteService("calc")
 * public final class Calculator {
 *   @RemoteMethod
 *   public Division div(long dividend, long divisor) { … } // serves /calc/div
 *
 *   @SeveralResults
 *   public record Division(long quotient, long remainder) {}
 * }
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface RemoteService {
  /** Its public name, the lowerCamelCase of the class's if it is empty. */
  String value() default "";
}
