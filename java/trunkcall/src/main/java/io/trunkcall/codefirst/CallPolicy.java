package io.trunkcall.codefirst;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What holds for the calls that a method of a client's interface makes, or that all methods of the
 * interface make. What stands at the method counts first; {@link io.trunkcall.CallOptions} win over
 * both.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
public @interface CallPolicy {
  /** A call ends after this time at the latest: "500ms", "1.5s", "2m". */
  String timeout() default "";

  /** Whether a call waits for a connection until its deadline, instead of failing. */
  Choice waitForReady() default Choice.UNSAID;

  /**
   * Whether a call that provably was not run is made once more. It is the client's to know: {@link
   * RemoteClients} tells those that it makes, and {@link CodeFirst#policies} has it for others.
   */
  Choice repeat() default Choice.UNSAID;

  /** How arguments and results travel. */
  CarriedAs codec() default CarriedAs.UNSAID;

  /** An answer that need not be given. */
  enum Choice {
    /** As it holds otherwise. */
    UNSAID,
    /** It is so. */
    YES,
    /** It is not. */
    NO
  }

  /** The codecs that carry arguments and results. */
  enum CarriedAs {
    /** As it holds otherwise: MessagePack. */
    UNSAID,
    /** MessagePack. */
    MESSAGE_PACK,
    /** JSON. */
    JSON
  }
}
