package io.trunkcall.registry;

import io.trunkcall.Endpoint;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What a registry holds of one instance of a server for one service (registry.md 2): {@code
 * ServiceRecord.builder("users", "a", "10.0.0.5:4000").zone("eu").build()}. What is wrong with it
 * is told when it is written. Sizes are in bytes of UTF-8, and no text has control characters.
 *
 * @param service the name under which instances are found: at most 200 letters and digits of ASCII,
 *     {@code .}, {@code _} and {@code -}, of which the last two do not begin it
 * @param id which instance this is: such a name, of at most 128
 * @param addresses what leads to the instance: 1 to 16, as of an {@link Endpoint}
 * @param serverName what its certificate must show; if it is empty, the host of the address
 * @param weight its part of the calls beside others, up to 1,000,000; 0 counts as 1
 * @param zone where it runs, at most 128 bytes; may be empty
 * @param version of the program that serves, likewise
 * @param attributes for users' balancers and dialers: at most 64 of 1,024 bytes, with names of 1 to
 *     128
 */
public record ServiceRecord(
    String service,
    String id,
    List<String> addresses,
    String serverName,
    int weight,
    String zone,
    String version,
    Map<String, String> attributes) {

  /** A record; list and map are copied. */
  public ServiceRecord {
    Objects.requireNonNull(service, "service");
    Objects.requireNonNull(id, "id");
    addresses = List.copyOf(addresses);
    Objects.requireNonNull(serverName, "serverName");
    weight = weight == 0 ? 1 : weight;
    Objects.requireNonNull(zone, "zone");
    Objects.requireNonNull(version, "version");
    attributes = Map.copyOf(attributes);
  }

  /** A builder of a record of an instance with these addresses. */
  public static Builder builder(String service, String id, String... addresses) {
    return new Builder(service, id, List.of(addresses));
  }

  /**
   * Reads a record. What it does not know it ignores.
   *
   * @throws InvalidRecordException for bytes that are no record, with what is wrong
   */
  public static ServiceRecord parse(byte[] bytes) {
    return RecordReader.read(bytes);
  }

  /** The same for what stands under a key. */
  static ServiceRecord parseAt(String service, String id, byte[] bytes) {
    ServiceRecord read = parse(bytes);
    if (!read.service.equals(service)) {
      throw new InvalidRecordException("service: want " + service + ", as its key says");
    }
    if (!read.id.equals(id)) {
      throw new InvalidRecordException("id: want " + id + ", as its key says");
    }
    return new ServiceRecord( // whose names are not held twice
        service,
        id,
        read.addresses,
        read.serverName,
        read.weight,
        read.zone,
        read.version,
        read.attributes);
  }

  /**
   * The record as it is written, the same in every language and registry.
   *
   * @throws InvalidRecordException for what cannot be a record, with what is wrong
   */
  public byte[] toBytes() {
    return RecordWriter.write(this);
  }

  /** Where the record stands in a registry: service and id. */
  public String key() {
    return service + "/" + id;
  }

  /**
   * What a client makes of it. The version is the attribute {@code version}, unless there is one.
   */
  public Endpoint toEndpoint() {
    Map<String, String> all = attributes;
    if (!version.isEmpty() && !attributes.containsKey("version")) {
      all = new HashMap<>(attributes);
      all.put("version", version);
    }
    return new Endpoint(addresses, id, serverName, weight, zone, all);
  }

  /** Collects what is said of an instance. Used by one thread. */
  public static final class Builder {
    private final String service;
    private final String id;
    private final List<String> addresses;
    private String serverName = "";
    private int weight = 1;
    private String zone = "";
    private String version = "";
    private Map<String, String> attributes = Map.of();

    private Builder(String service, String id, List<String> addresses) {
      this.service = service;
      this.id = id;
      this.addresses = addresses;
    }

    /** See {@link ServiceRecord#serverName}. */
    public Builder serverName(String serverName) {
      this.serverName = Objects.requireNonNull(serverName, "serverName");
      return this;
    }

    /** See {@link ServiceRecord#weight}. */
    public Builder weight(int weight) {
      this.weight = weight;
      return this;
    }

    /** See {@link ServiceRecord#zone}. */
    public Builder zone(String zone) {
      this.zone = Objects.requireNonNull(zone, "zone");
      return this;
    }

    /** See {@link ServiceRecord#version}. */
    public Builder version(String version) {
      this.version = Objects.requireNonNull(version, "version");
      return this;
    }

    /** See {@link ServiceRecord#attributes}. */
    public Builder attributes(Map<String, String> attributes) {
      this.attributes = Map.copyOf(attributes);
      return this;
    }

    /** The record. */
    public ServiceRecord build() {
      return new ServiceRecord(
          service, id, addresses, serverName, weight, zone, version, attributes);
    }
  }
}
