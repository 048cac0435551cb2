/** Clients and servers of Trunkcall: many calls over few connections. */
@NullMarked
package io.trunkcall;

import org.jspecify.annotations.NullMarked;
