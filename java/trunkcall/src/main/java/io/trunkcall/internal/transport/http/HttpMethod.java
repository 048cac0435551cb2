package io.trunkcall.internal.transport.http;

import java.util.function.IntPredicate;

/**
 * What the protocols learn of a method that is served.
 *
 * @param name {@code /package.Service/Method}
 * @param takesOne whether it takes exactly one message
 * @param streams whether more than one message may go one way or the other
 * @param answersOne whether it answers with exactly one message
 * @param safe whether calls have no side effects, so that GET may make them
 * @param carries whether the codec of a number carries its messages
 * @param target what belongs to the one who serves it
 */
public record HttpMethod(
    String name,
    boolean takesOne,
    boolean streams,
    boolean answersOne,
    boolean safe,
    IntPredicate carries,
    Object target) {}
