package io.trunkcall.peer;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.trunkcall.load.UsageError;
import io.trunkcall.registry.Registrar;
import io.trunkcall.registry.Store;
import java.util.Map;
import java.util.TreeMap;

/** What the record of a server says besides where it is. */
record Instance(int weight, String zone, String version, Map<String, String> attributes) {
  static final Instance NOTHING = new Instance(1, "", "", Map.of());

  static Instance of(String text) throws UsageError {
    int weight = NOTHING.weight;
    String zone = NOTHING.zone;
    String version = NOTHING.version;
    Map<String, String> attributes = new TreeMap<>();
    try {
      JsonObject given = new Gson().fromJson(text, JsonObject.class);
      if (given == null) {
        throw new UsageError("want an object, not nothing");
      }
      for (String member : given.keySet()) {
        switch (member) {
          case "weight" -> weight = given.get(member).getAsInt();
          case "zone" -> zone = given.get(member).getAsString();
          case "version" -> version = given.get(member).getAsString();
          case "attributes" ->
              given
                  .getAsJsonObject(member)
                  .asMap()
                  .forEach((key, value) -> attributes.put(key, value.getAsString()));
          default -> throw new UsageError("want weight, zone, version, attributes, not " + member);
        }
      }
    } catch (RuntimeException e) { // whatever a value of another type leads to
      throw new UsageError("want an object: " + e.getMessage());
    }
    return new Instance(weight, zone, version, attributes);
  }

  /** Publishes a server in a registry so. */
  Registrar registrar(Store store) {
    return Registrar.builder(store)
        .weight(weight)
        .zone(zone)
        .version(version)
        .attributes(attributes)
        .build();
  }
}
