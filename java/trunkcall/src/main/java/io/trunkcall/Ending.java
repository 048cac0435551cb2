package io.trunkcall;

/**
 * How a call ended that a {@link Protocol} has handed over.
 *
 * @param status its delivery is REFUSED if no handler ran
 * @param trailers the metadata behind the answer
 */
public record Ending(Status status, Metadata trailers) {}
