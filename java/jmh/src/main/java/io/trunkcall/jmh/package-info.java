/** What frames and dispatch cost, without a socket: {@code sh java/bench.sh} runs it. */
@NullMarked
package io.trunkcall.jmh;

import org.jspecify.annotations.NullMarked;
