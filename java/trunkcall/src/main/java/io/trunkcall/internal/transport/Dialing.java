package io.trunkcall.internal.transport;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.SessionConfig;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How the addresses of one endpoint are dialled.
 *
 * @param loop that owns the connection: {@link Loops#next}, or {@link Loops#nextNio} if {@code
 *     open} is given
 * @param addresses that are raced; at least one
 * @param events makes the user of each connection that is tried
 * @param config of the sessions
 * @param methods that this side serves on its connections
 * @param tls null: in the clear
 * @param serverName that the server's certificate must show; empty: the address's host
 * @param open a user's dialer; null: the system dials
 * @param greeting waits until the server has greeted; fails with {@link TurnedAwayException}. Null:
 *     the connection may be used before
 * @param alone whether there is no other endpoint to try
 */
public record Dialing(
    EventLoop loop,
    List<Address> addresses,
    Supplier<ConnectionEvents> events,
    SessionConfig config,
    MethodTable methods,
    @Nullable TlsSource tls,
    String serverName,
    @Nullable OpenChannel open,
    @Nullable Function<Carrier, CompletableFuture<Void>> greeting,
    boolean alone) {}
