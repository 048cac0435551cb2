package io.trunkcall.registries;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** A registry's own server on the loopback interface, as tests use it. */
interface RegistryProcess extends AutoCloseable {
  /** Its name for {@code Registry.open}. */
  String name();

  /** What stands there of a service, by id. */
  Map<String, byte[]> entries(String service) throws Exception;

  /** Puts an entry there that stays, in place of what there was. */
  void put(String service, String id, byte[] data) throws Exception;

  /** Removes an entry, whoever has published it. */
  void remove(String service, String id) throws Exception;

  /** Ends the leases or sessions of all who publish. */
  void expire() throws Exception;

  /** Ends it; its data and its port stay. */
  void stop() throws Exception;

  /** Starts it again, and returns once it answers. */
  void start() throws Exception;

  /** A program of this machine, or what `make registries` has prepared; empty if there is none. */
  static Optional<Path> program(String name, String prepared) {
    Path tree = Path.of(System.getProperty("trunkcall.tree"), "build/registries", prepared);
    return Stream.concat(
            Stream.of(System.getenv("PATH").split(":", -1)).map(one -> Path.of(one, name)),
            Stream.of(tree))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** A port that is free now. */
  static int port() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
