/**
 * Both ends under test of the public conformance suite of Connect, gRPC and gRPC-Web: what
 * conformance/peer.md, section 8, tells of connect-server and connect-client.
 */
@NullMarked
package io.trunkcall.peer.publicsuite;

import org.jspecify.annotations.NullMarked;
