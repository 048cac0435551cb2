package io.trunkcall;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * One instance of a service, which may have several addresses: {@code
 * Endpoint.builder("10.0.0.1:50051").weight(3).build()}. What else is wrong with it than a null is
 * told by {@link Watch#set}, or by the client.
 *
 * @param addresses {@code HOST:PORT}, {@code unix:PATH}, {@code mem:NAME}, {@code ws://…} or {@code
 *     wss://…}, raced as RFC 8305 says
 * @param id what identifies the endpoint from one set to the next; if it is empty, its addresses
 *     and server name do. If those change, it is another endpoint; with another weight, zone or
 *     attributes it is the same
 * @param serverName what its certificate must show unless the client says it; if it is empty, the
 *     host of the address
 * @param weight its part of the calls beside others, for balancers that look at it, up to
 *     1,000,000; 0 counts as 1
 * @param zone where it runs, for users' balancers; may be empty
 * @param attributes for users' balancers and dialers
 */
public record Endpoint(
    List<String> addresses,
    String id,
    String serverName,
    int weight,
    String zone,
    Map<String, String> attributes) {

  /** An endpoint; lists and maps are copied. */
  public Endpoint {
    addresses = List.copyOf(addresses);
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(serverName, "serverName");
    Objects.requireNonNull(zone, "zone");
    attributes = Map.copyOf(attributes);
  }

  /** An endpoint of which nothing is known but its addresses. */
  public static Endpoint of(String... addresses) {
    return builder(addresses).build();
  }

  /** A builder of an endpoint with these addresses. */
  public static Builder builder(String... addresses) {
    return new Builder(List.of(addresses));
  }

  /** Its id, or its addresses, with its server name if it has one. */
  public String identity() {
    if (!id.isEmpty()) {
      return id;
    }
    String name = addresses.size() == 1 ? addresses.get(0) : String.join(",", addresses);
    return serverName.isEmpty() ? name : name + "#" + serverName;
  }

  /** Its id, or its addresses. */
  @Override
  public String toString() {
    return id.isEmpty() ? String.join(",", addresses) : id;
  }

  /** Collects what is known of an endpoint. Used by one thread. */
  public static final class Builder {
    private final List<String> addresses;
    private String id = "";
    private String serverName = "";
    private int weight = 1;
    private String zone = "";
    private Map<String, String> attributes = Map.of();

    private Builder(List<String> addresses) {
      this.addresses = addresses;
    }

    /** See {@link Endpoint#id}. */
    public Builder id(String id) {
      this.id = Objects.requireNonNull(id, "id");
      return this;
    }

    /** See {@link Endpoint#serverName}. */
    public Builder serverName(String serverName) {
      this.serverName = Objects.requireNonNull(serverName, "serverName");
      return this;
    }

    /** See {@link Endpoint#weight}. */
    public Builder weight(int weight) {
      this.weight = weight;
      return this;
    }

    /** See {@link Endpoint#zone}. */
    public Builder zone(String zone) {
      this.zone = Objects.requireNonNull(zone, "zone");
      return this;
    }

    /** See {@link Endpoint#attributes}. */
    public Builder attributes(Map<String, String> attributes) {
      this.attributes = Map.copyOf(attributes);
      return this;
    }

    /** The endpoint. */
    public Endpoint build() {
      return new Endpoint(addresses, id, serverName, weight, zone, attributes);
    }
  }
}
