package io.trunkcall.registries;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** An agent of Consul that is a server of its own, asked by its API over HTTP. */
class ConsulProcess extends HttpProcess {
  private final Path program;
  private final int server = RegistryProcess.port();
  private final int serf = RegistryProcess.port();

  ConsulProcess(Path program, Path folder) throws IOException {
    super(folder);
    this.program = program;
  }

  @Override
  List<String> words() {
    return List.of(program.toString(), "agent", "-config-file=" + folder.resolve("consul.json"));
  }

  @Override
  public void start() throws Exception {
    String settings =
        """
        {"server": true, "bootstrap_expect": 1, "node_name": "test", "datacenter": "test",
         "bind_addr": "127.0.0.1", "client_addr": "127.0.0.1", "data_dir": "%s",
         "ports": {"http": %d, "server": %d, "serf_lan": %d,
                   "dns": -1, "grpc": -1, "https": -1, "serf_wan": -1},
         "performance": {"raft_multiplier": 1},
         "disable_update_check": true, "leave_on_terminate": false, "log_level": "warn"}
        """;
    Files.writeString(
        folder.resolve("consul.json"),
        settings.formatted(folder.resolve("data"), port, server, serf));
    super.start();
  }

  @Override
  boolean answers() throws Exception {
    return ask("GET", "/v1/status/leader", "").length() > 2
        && !ask("GET", "/v1/catalog/node/test", "").equals("null");
  }

  private JsonObject ours(String path) throws Exception {
    return JsonParser.parseString(ask("GET", path, "")).getAsJsonObject();
  }

  @Override
  public String name() {
    return "consul:127.0.0.1:" + port;
  }

  @Override
  public Map<String, byte[]> entries(String service) throws Exception {
    Map<String, byte[]> found = new TreeMap<>();
    String path = "/v1/health/service/" + service + "?passing";
    for (JsonElement one : JsonParser.parseString(ask("GET", path, "")).getAsJsonArray()) {
      JsonObject instance = one.getAsJsonObject().getAsJsonObject("Service");
      JsonObject meta = instance.getAsJsonObject("Meta");
      StringBuilder text = new StringBuilder();
      for (int i = 0; meta.has("trunkcall-" + i); i++) {
        text.append(meta.get("trunkcall-" + i).getAsString());
      }
      found.put(
          instance.get("ID").getAsString().substring(service.length() + 1),
          text.toString().getBytes(StandardCharsets.UTF_8));
    }
    return found;
  }

  @Override
  public void put(String service, String id, byte[] data) throws Exception {
    JsonObject meta = new JsonObject();
    meta.addProperty("trunkcall-0", new String(data, StandardCharsets.UTF_8));
    JsonObject made = new JsonObject();
    made.addProperty("Name", service);
    made.addProperty("ID", service + "/" + id);
    made.add("Meta", meta);
    ask("PUT", "/v1/agent/service/register?replace-existing-checks", made.toString());
  }

  @Override
  public void remove(String service, String id) throws Exception {
    ask("PUT", "/v1/agent/service/deregister/" + service + "/" + id, "");
  }

  @Override
  public void expire() throws Exception {
    for (String check : ours("/v1/agent/checks").keySet()) {
      ask("PUT", "/v1/agent/check/fail/" + check, "");
    }
  }
}
