/**
 * The reference program: what users would write, with the public package alone, to serve, to call
 * and to measure. conformance/peer.md says what it does.
 */
@NullMarked
package io.trunkcall.peer;

import org.jspecify.annotations.NullMarked;
