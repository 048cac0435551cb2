/**
 * What finding servers and policies cost a call, measured: {@link
 * io.trunkcall.peer.features.Features}.
 */
@NullMarked
package io.trunkcall.peer.features;

import org.jspecify.annotations.NullMarked;
