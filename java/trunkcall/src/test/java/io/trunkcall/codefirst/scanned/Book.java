package io.trunkcall.codefirst.scanned;

/** A value. */
public record Book(String title, int year) {}
