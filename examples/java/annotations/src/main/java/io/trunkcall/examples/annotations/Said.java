package io.trunkcall.examples.annotations;

import io.trunkcall.codefirst.SeveralResults;

/** What saying something gives: four results, each of its own for callers in other languages. */
@SeveralResults
public record Said(String text, int count, int step, double pitch) {}
