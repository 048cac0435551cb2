/** Sessions joined to sockets. Not for users. */
@NullMarked
package io.trunkcall.internal.transport;

import org.jspecify.annotations.NullMarked;
