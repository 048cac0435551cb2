package io.trunkcall.codefirst;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Of a whole number: it stands for the unsigned one of half its bits, and values that do not fit in
 * that are refused. A {@code short} has 8 bits then, an {@code int} 16, a {@code long} 32. A {@code
 * BigInteger} is of 64 bits without a sign in any case.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE_USE)
public @interface Unsigned {}
