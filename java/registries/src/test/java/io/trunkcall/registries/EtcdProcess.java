package io.trunkcall.registries;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** etcd, asked by its gateway to HTTP. */
final class EtcdProcess extends HttpProcess {
  private final Path program;
  private final int peers = RegistryProcess.port();

  EtcdProcess(Path program, Path folder) throws IOException {
    super(folder);
    this.program = program;
  }

  @Override
  List<String> words() {
    String here = "http://127.0.0.1:" + port;
    String other = "http://127.0.0.1:" + peers;
    return List.of(
        program.toString(),
        "--name=test",
        "--data-dir=" + folder.resolve("data"),
        "--initial-cluster=test=" + other,
        "--listen-client-urls=" + here,
        "--advertise-client-urls=" + here,
        "--listen-peer-urls=" + other,
        "--initial-advertise-peer-urls=" + other);
  }

  @Override
  boolean answers() throws Exception {
    ask("POST", "/v3/kv/range", body("key", "/"));
    return true;
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String body(String... pairs) {
    JsonObject made = new JsonObject();
    for (int i = 0; i < pairs.length; i += 2) {
      made.addProperty(pairs[i], base64(pairs[i + 1]));
    }
    return made.toString();
  }

  private static String key(String service, String id) {
    return "/trunkcall/v1/" + service + "/" + id;
  }

  private static JsonArray list(String answer, String name) {
    JsonElement found = JsonParser.parseString(answer).getAsJsonObject().get(name);
    return found == null ? new JsonArray() : found.getAsJsonArray();
  }

  @Override
  public String name() {
    return "etcd:127.0.0.1:" + port;
  }

  @Override
  public Map<String, byte[]> entries(String service) throws Exception {
    String from = key(service, "");
    String to = from.substring(0, from.length() - 1) + "0"; // behind the slash
    Map<String, byte[]> found = new TreeMap<>();
    for (JsonElement one :
        list(ask("POST", "/v3/kv/range", body("key", from, "range_end", to)), "kvs")) {
      JsonObject pair = one.getAsJsonObject();
      String name =
          new String(
              Base64.getDecoder().decode(pair.get("key").getAsString()), StandardCharsets.UTF_8);
      found.put(
          name.substring(from.length()),
          Base64.getDecoder().decode(pair.get("value").getAsString()));
    }
    return found;
  }

  @Override
  public void put(String service, String id, byte[] data) throws Exception {
    String text = new String(data, StandardCharsets.UTF_8);
    ask("POST", "/v3/kv/put", body("key", key(service, id), "value", text));
  }

  @Override
  public void remove(String service, String id) throws Exception {
    ask("POST", "/v3/kv/deleterange", body("key", key(service, id)));
  }

  @Override
  public void expire() throws Exception {
    for (JsonElement one : list(ask("POST", "/v3/lease/leases", "{}"), "leases")) {
      ask("POST", "/v3/lease/revoke", one.toString());
    }
  }
}
