package io.trunkcall;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a unary call: its message, and what came beside it.
 *
 * @param message null for a one-way call
 * @param headers the metadata ahead of the message
 * @param trailers the metadata behind it
 * @param peer the address of the side that answered
 * @param serverTime from the arrival of the request to the answer, by the server's clock
 */
public record Response<R>(
    @Nullable R message, Metadata headers, Metadata trailers, String peer, Duration serverTime) {}
