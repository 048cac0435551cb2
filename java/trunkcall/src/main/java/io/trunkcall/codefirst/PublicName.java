package io.trunkcall.codefirst;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The name on the wire of a record's component, a class's field, or an enumeration's constant.
 * Where it is not given, fields have the lowerCamelCase of their own name and constants their own.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
public @interface PublicName {
  /** The name. */
  String value();
}
