/**
 * What takes part in the conformance matrix: the service that the cases call ({@link
 * io.trunkcall.peer.conformance.Service}), and the client that carries cases out ({@link
 * io.trunkcall.peer.conformance.CasesClient}). conformance/cases/README.md describes the cases and
 * the lines in which the client takes and answers them.
 */
@NullMarked
package io.trunkcall.peer.conformance;

import org.jspecify.annotations.NullMarked;
