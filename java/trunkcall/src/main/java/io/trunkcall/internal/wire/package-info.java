/**
 * The protocol without sockets, threads or clocks: bytes in, events and bytes out. Not for users.
 */
@NullMarked
package io.trunkcall.internal.wire;

import org.jspecify.annotations.NullMarked;
