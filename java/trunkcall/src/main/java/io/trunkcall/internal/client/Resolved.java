package io.trunkcall.internal.client;

import io.trunkcall.Endpoint;
import io.trunkcall.internal.transport.Address;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An endpoint with its addresses as they are dialled. */
record Resolved(Endpoint endpoint, List<Address> addresses) {
  private static final int MOST = 100_000; // endpoints of a set
  private static final int MOST_ADDRESSES = 64; // of an endpoint
  private static final int MOST_WEIGHT = 1_000_000;

  /**
   * The endpoints of a set, each identity once, with their addresses. Throws
   * IllegalArgumentException for a set that is not to be applied (client.md 7.1, 8.2).
   */
  static List<Resolved> check(List<Endpoint> endpoints) {
    return List.copyOf(check(endpoints, Map.of()).values());
  }

  /** The same by identity. What is in a set that was good {@code before} is not checked again. */
  static Map<String, Resolved> check(List<Endpoint> endpoints, Map<String, Resolved> before) {
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("the set of endpoints is empty");
    }
    if (endpoints.size() > MOST) {
      throw new IllegalArgumentException(
          "a set of %,d endpoints, of at most %,d".formatted(endpoints.size(), MOST));
    }
    Map<String, Resolved> found = new LinkedHashMap<>();
    for (Endpoint endpoint : endpoints) {
      String identity = endpoint.identity();
      Resolved known = before.get(identity);
      boolean same = known != null && known.endpoint == endpoint;
      found.putIfAbsent(identity, same ? known : check(endpoint));
    }
    return found;
  }

  private static Resolved check(Endpoint endpoint) {
    int weight = endpoint.weight();
    if (weight < 0 || weight > MOST_WEIGHT) {
      throw new IllegalArgumentException(
          "endpoint %s has a weight of %d: 0 to %,d".formatted(endpoint, weight, MOST_WEIGHT));
    }
    int count = endpoint.addresses().size();
    if (count < 1 || count > MOST_ADDRESSES) {
      throw new IllegalArgumentException(
          "endpoint \"%s\" has %d addresses: 1 to %d"
              .formatted(endpoint.identity(), count, MOST_ADDRESSES));
    }
    List<Address> addresses = new ArrayList<>(count);
    for (String address : endpoint.addresses()) {
      try {
        addresses.add(Address.parse(address));
      } catch (IllegalArgumentException fault) {
        throw new IllegalArgumentException("endpoint " + endpoint + ": " + fault.getMessage());
      }
    }
    return new Resolved(endpoint, List.copyOf(addresses));
  }
}
