package io.trunkcall.registry;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** What a user has said of a server, and the records that it makes (registry.md 5.1 to 5.3). */
record Published(
    List<String> names,
    List<String> addresses,
    String id,
    String serverName,
    int weight,
    String zone,
    String version,
    Map<String, String> attributes) {
  private static final List<String> GRPC = List.of("grpc.health.", "grpc.reflection.");
  // As servers say where they listen, be it as their users have written it.
  private static final List<String> EVERYWHERE =
      List.of("0.0.0.0:", "[::]:", "[0:0:0:0:0:0:0:0]:", ":");

  /**
   * The records of a server that serves services and listens. Throws IllegalArgumentException for
   * what cannot be published.
   */
  List<Written> records(List<String> services, List<String> listening) {
    List<String> all = names;
    if (all.isEmpty()) {
      all = services.stream().filter(one -> GRPC.stream().noneMatch(one::startsWith)).toList();
    }
    if (all.isEmpty()) {
      throw new IllegalArgumentException(
          "no service to publish: register services before the server listens, or name them");
    }
    List<String> places = addresses.isEmpty() ? reached(listening) : addresses;
    if (places.isEmpty()) {
      throw new InvalidRecordException(Member.ADDRESSES.fault());
    }
    String own = id.isEmpty() ? Names.idOf(places.get(0)) : id;
    List<Written> records = new ArrayList<>(all.size());
    for (String name : new LinkedHashSet<>(all)) {
      records.add(
          new Written(
              new ServiceRecord(name, own, places, serverName, weight, zone, version, attributes)));
    }
    return records;
  }

  private static List<String> reached(List<String> listening) {
    for (String one : listening) {
      if (EVERYWHERE.stream().anyMatch(one::startsWith)) {
        throw new IllegalArgumentException(
            one
                + " is listened on, which is all addresses of this machine: say by which one it is"
                + " reached");
      }
    }
    return listening.stream().filter(one -> !one.startsWith("mem:")).toList();
  }
}
