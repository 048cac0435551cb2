package io.trunkcall.internal.client;

import io.trunkcall.Endpoint;
import io.trunkcall.internal.transport.Address;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** An endpoint with its addresses as they are dialled, and the hash of its identity. */
record Resolved(Endpoint endpoint, List<Address> addresses, long hash) {
  private static final int MOST = 100_000; // endpoints of a set
  private static final int MOST_ADDRESSES = 64; // of an endpoint
  private static final int MOST_WEIGHT = 1_000_000;

  /**
   * The endpoints of a set, each identity once, with their addresses. Throws
   * IllegalArgumentException for a set that is not to be applied (client.md 7.1, 8.2).
   */
  static List<Resolved> check(List<Endpoint> endpoints) {
    return Checked.NONE.next(endpoints).found;
  }

  /** A set as it was given, and what was made of it. */
  record Checked(List<Endpoint> given, List<Resolved> found) {
    /** Of no endpoints. */
    static final Checked NONE = new Checked(List.of(), List.of());

    /**
     * The next set, of which only what was not in this one is checked, or that stands elsewhere.
     * Throws as {@link Resolved#check(List)}.
     */
    Checked next(List<Endpoint> endpoints) {
      if (endpoints.isEmpty()) {
        throw new IllegalArgumentException("the set of endpoints is empty");
      }
      if (endpoints.size() > MOST) {
        throw new IllegalArgumentException(
            "a set of %,d endpoints, of at most %,d".formatted(endpoints.size(), MOST));
      }
      int[] places = Places.of(endpoints, given);
      Resolved[] now = new Resolved[places.length];
      Set<String> fresh = new HashSet<>();
      long hashes = 0; // of the fresh ones, of each six bits
      for (int i = 0; i < now.length; i++) {
        if (places[i] != Places.NONE) {
          now[i] = found.get(places[i]);
        } else {
          now[i] = resolved(endpoints.get(i));
          fresh.add(endpoints.get(i).identity());
          hashes |= 1L << now[i].hash;
        }
      }
      return isTwice(now, fresh, hashes)
          ? new Checked(List.of(), eachOnce(now))
          : new Checked(endpoints, List.of(now));
    }
  }

  /** Whether an identity stands twice in a set, in which all others than the fresh ones differ. */
  private static boolean isTwice(Resolved[] set, Set<String> fresh, long hashes) {
    int named = 0;
    if (!fresh.isEmpty()) {
      for (Resolved one : set) {
        boolean maybe = (hashes & 1L << one.hash) != 0;
        named += maybe && fresh.contains(one.endpoint.identity()) ? 1 : 0;
      }
    }
    return named > fresh.size();
  }

  private static List<Resolved> eachOnce(Resolved[] set) {
    Map<String, Resolved> first = new LinkedHashMap<>();
    for (Resolved one : set) {
      first.putIfAbsent(one.endpoint.identity(), one);
    }
    return List.copyOf(first.values());
  }

  private static Resolved resolved(Endpoint endpoint) {
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
    return new Resolved(endpoint, List.copyOf(addresses), Rendezvous.hashed(endpoint.identity()));
  }
}
