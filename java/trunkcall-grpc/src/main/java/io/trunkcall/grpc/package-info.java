/** Stubs and services that grpc-java's plugin generates, on clients and servers of Trunkcall. */
@NullMarked
package io.trunkcall.grpc;

import org.jspecify.annotations.NullMarked;
