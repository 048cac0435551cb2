/**
 * The protocols of HTTP on a server's port (spec/http.md): gRPC, gRPC-Web and Connect, over HTTP/2
 * and HTTP/1.1. What a client sends becomes an {@link io.trunkcall.internal.wire.Exchange}, as of a
 * native call.
 */
@NullMarked
package io.trunkcall.internal.transport.http;

import org.jspecify.annotations.NullMarked;
