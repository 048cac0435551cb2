package io.trunkcall.examples.annotations;

import io.trunkcall.codefirst.SeveralResults;

/** What a division gives. */
@SeveralResults
public record Division(long quotient, long remainder) {}
