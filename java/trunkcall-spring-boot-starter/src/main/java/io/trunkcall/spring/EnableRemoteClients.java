package io.trunkcall.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.AliasFor;

/**
 * At a configuration: interfaces with {@link io.trunkcall.codefirst.RemoteClient} become beans that
 * call their services, to be injected by type.
 *
 * <pre>{@code
 * @RemoteClient(service = "calc", target = "${calc.target}")
 * interface Calculator {
 *   long add(long a, long b);
 * }
 * }</pre>
 *
 * <p>What {@code trunkcall.clients.calc} says ({@link ClientSettings}) counts before what stands at
 * the interface.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Import(ClientsRegistrar.class)
public @interface EnableRemoteClients {
  /** The same as {@link #basePackages}. */
  @AliasFor("basePackages")
  String[] value() default {};

  /**
   * Where to look, in these packages and those below them. Unless something is given, that of the
   * annotated class.
   */
  @AliasFor("value")
  String[] basePackages() default {};

  /** Classes in whose packages to look. */
  Class<?>[] basePackageClasses() default {};

  /** Interfaces, without looking anywhere unless packages are given too. */
  Class<?>[] clients() default {};
}
