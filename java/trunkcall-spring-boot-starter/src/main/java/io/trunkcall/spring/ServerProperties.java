package io.trunkcall.spring;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * What the server is to be.
 *
 * @param enabled Whether there is a server.
 * @param listen Where it listens: HOST:PORT, port 0 for any free one, unix:PATH, or mem:NAME for
 *     clients of the same process.
 * @param tls Certificates.
 * @param allowCleartext Whether cleartext is accepted beside TLS.
 * @param limits What is accepted on each connection.
 * @param memory How much may be held for callers: a quarter of the largest heap, at most 1 GB,
 *     unless it is given.
 * @param runningHandlers How many handlers may run at once, 16384 unless it is given.
 * @param handlerThreads How many threads handlers have: up to 1024, which end when they are not
 *     used, unless it is given.
 * @param virtualThreads Whether each handler runs on a virtual thread of its own; as
 *     spring.threads.virtual.enabled says unless it is given.
 * @param keepalive When connections without input are asked for a sign of life.
 * @param maxConnectionAge After how long a connection is drained, so that load spreads to new
 *     servers.
 * @param drainDelay How long the server serves on when it is stopped, so that registries forget it
 *     first.
 * @param maxConnections How many connections there may be, as many as the process may have unless
 *     it is given.
 * @param maxConnectionsPerAddress How many of them may come from one address, 16384 unless it is
 *     given.
 * @param proxyProtocol Whether each connection begins with the header of a proxy, which is
 *     believed.
 * @param compression What messages are compressed by, in the order of preference: answers are as
 *     their requests unless it is given.
 * @param strictJson Whether requests in JSON are refused that have unknown fields.
 * @param nativeOnly Whether the port serves the native protocol alone.
 * @param origins Web pages that may open WebSockets, such as https://app.example.com, besides those
 *     of the server's own host and port.
 */
@ConfigurationProperties("trunkcall.server")
public record ServerProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("0.0.0.0:4000") List<String> listen,
    @NestedConfigurationProperty @Nullable ServerTls tls,
    boolean allowCleartext,
    @NestedConfigurationProperty @DefaultValue LimitsProperties limits,
    @Nullable DataSize memory,
    @Nullable Integer runningHandlers,
    @Nullable Integer handlerThreads,
    @Nullable Boolean virtualThreads,
    @NestedConfigurationProperty @DefaultValue KeepaliveProperties keepalive,
    @Nullable Duration maxConnectionAge,
    @DefaultValue("0s") Duration drainDelay,
    @Nullable Integer maxConnections,
    @Nullable Integer maxConnectionsPerAddress,
    boolean proxyProtocol,
    @DefaultValue List<CompressedBy> compression,
    boolean strictJson,
    boolean nativeOnly,
    @DefaultValue List<String> origins) {}
