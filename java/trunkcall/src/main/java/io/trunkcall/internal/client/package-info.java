/**
 * What a client does by itself (client.md 6 to 11), without a socket: where endpoints come from,
 * how connections to them are kept, and which one a call goes to. What keeps a state is used on the
 * client's loop unless it says otherwise. Not for users.
 */
@NullMarked
package io.trunkcall.internal.client;

import org.jspecify.annotations.NullMarked;
