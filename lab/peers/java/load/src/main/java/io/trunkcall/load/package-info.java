/**
 * Puts calls on a server and times them.
 *
 * <p>It knows nothing of any RPC framework: whoever measures one hands in functions that make a
 * call, so that the reference program and every peer beside it in the lab are driven and timed by
 * the same code. The flags, the two experiments and the line of JSON are those of lab/README.md, of
 * go/peer/load and of python/load.
 *
 * <p>In reading order: {@code Call} and {@code AsyncCall} what is measured, {@code Config} how much
 * of it, {@code Calls} a whole run, {@code Window} one stretch of load, {@code BlockingCaller} and
 * {@code AsyncCaller} who makes the calls, {@code Result} what came of it; {@code Flags} and {@code
 * Options} the command line; {@code Work} what a handler does besides its answer, {@code Receipts}
 * streams as calls.
 */
package io.trunkcall.load;
