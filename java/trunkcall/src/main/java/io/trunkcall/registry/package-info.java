/**
 * Publishes servers in a registry, and finds them there (spec/registry.md).
 *
 * <ul>
 *   <li>{@link io.trunkcall.registry.Registry}: registries by their names, {@code
 *       trunkcall:127.0.0.1:4001} or {@code file:/run/trunkcall}, and what finds the endpoints of a
 *       service for a client
 *   <li>{@link io.trunkcall.registry.Registrar}: publishes a server, from when it listens until it
 *       is about to stop
 *   <li>{@link io.trunkcall.registry.Source}: where instances are found; {@link
 *       io.trunkcall.registry.Store}: where servers are published, too
 *   <li>{@link io.trunkcall.registry.RegistryServer}: the embedded registry, which any process may
 *       serve: the default on one machine
 * </ul>
 *
 * A server that is found, and a client that finds it:
 *
 * <pre>{@code
 * Store store = Registry.openStore("trunkcall:127.0.0.1:4001");
 * Server server = Server.builder().registrar(Registrar.of(store)).listen("127.0.0.1:0").build();
 *
 * Client client =
 *     Client.builder("registry:example.Greeter")
 *         .resolver("registry", Registry.resolver(store))
 *         .build();
 * }</pre>
 */
@NullMarked
package io.trunkcall.registry;

import org.jspecify.annotations.NullMarked;
