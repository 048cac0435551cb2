package io.trunkcall.internal.transport.http;

/** A field of HTTP. The name is in small letters. */
record Field(String name, String value) {}
