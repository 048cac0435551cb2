package io.trunkcall.registries;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The same, where records stand as keys under a root (registry.md 10.5). */
final class ConsulKeysProcess extends ConsulProcess {
  private static final String ROOT = "trunkcall/v1";
  private static final String KV = "/v1/kv/";

  ConsulKeysProcess(Path program, Path folder) throws IOException {
    super(program, folder);
  }

  @Override
  public String name() {
    return super.name() + "/" + ROOT;
  }

  private static String key(String service, String id) {
    return KV + ROOT + "/" + service + "/" + id;
  }

  private JsonArray list(String path) throws Exception {
    return JsonParser.parseString(ask("GET", path, "", "[]")).getAsJsonArray();
  }

  /** Of several of one id the first. */
  @Override
  public Map<String, byte[]> entries(String service) throws Exception {
    Map<String, byte[]> found = new TreeMap<>();
    for (JsonElement one : list(key(service, "") + "?recurse&consistent")) {
      JsonObject pair = one.getAsJsonObject();
      String name =
          pair.get("Key").getAsString().substring(key(service, "").length() - KV.length());
      byte[] data = Base64.getDecoder().decode(pair.get("Value").getAsString());
      found.putIfAbsent(name.substring(0, name.indexOf('/')), data);
    }
    return found;
  }

  @Override
  public void put(String service, String id, byte[] data) throws Exception {
    byte[] sum = MessageDigest.getInstance("SHA-256").digest(data);
    String digest = HexFormat.of().formatHex(sum, 0, 8);
    remove(service, id);
    ask("PUT", key(service, id + "/" + digest), new String(data, StandardCharsets.UTF_8));
  }

  @Override
  public void remove(String service, String id) throws Exception {
    ask("DELETE", key(service, id + "/") + "?recurse", "");
  }

  @Override
  public void expire() throws Exception {
    for (JsonElement one : list("/v1/session/list")) {
      ask("PUT", "/v1/session/destroy/" + one.getAsJsonObject().get("ID").getAsString(), "");
    }
  }

  /** Writes keys as they are, whatever their names. */
  void write(List<String> keys, byte[] data) throws Exception {
    JsonArray changes = new JsonArray();
    for (String key : keys) {
      JsonObject set = new JsonObject();
      set.addProperty("Verb", "set");
      set.addProperty("Key", ROOT + "/" + key);
      set.addProperty("Value", Base64.getEncoder().encodeToString(data));
      JsonObject change = new JsonObject();
      change.add("KV", set);
      changes.add(change);
    }
    ask("PUT", "/v1/txn", changes.toString());
  }
}
