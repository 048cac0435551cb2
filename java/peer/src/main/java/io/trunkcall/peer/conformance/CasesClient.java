package io.trunkcall.peer.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.trunkcall.Client;
import io.trunkcall.load.Failed;
import io.trunkcall.peer.Console;
import io.trunkcall.peer.JsonForm;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Reads cases, a line each, carries them out one after the other, and prints a line for each. */
public final class CasesClient {
  /** Makes the client that a case wants. */
  @FunctionalInterface
  public interface Making {
    /** Makes it; {@code wanted} is how it is to be set up, {@code tls} the files, both as given. */
    Client make(String target, JsonObject wanted, JsonObject tls) throws Exception;
  }

  private static final long LIMIT_SECONDS = 30; // bounds a case in which something hangs

  private final BufferedReader in;
  private final Console console;
  private final Making making;
  private final Map<String, Client> kept = new HashMap<>();
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "case");
            thread.setDaemon(true);
            return thread;
          });

  /** Reads cases from {@code in}. */
  public CasesClient(BufferedReader in, Console console, Making making) {
    this.in = in;
    this.console = console;
    this.making = making;
  }

  /** Reads to the end. */
  public void run() throws IOException, InterruptedException, Failed {
    try {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        JsonObject found = JsonParser.parseString(line).getAsJsonObject();
        console.print(JsonForm.tight(told(found)));
      }
    } finally {
      kept.values().forEach(Client::close);
    }
  }

  private JsonObject told(JsonObject found) throws InterruptedException {
    JsonObject told = new JsonObject();
    told.add("name", found.get("name"));
    Future<JsonArray> outcomes = threads.submit(() -> carryOut(found));
    try {
      told.add("outcomes", outcomes.get(LIMIT_SECONDS, TimeUnit.SECONDS));
    } catch (TimeoutException e) {
      told.addProperty("error", "it took more than " + LIMIT_SECONDS + " s");
      outcomes.cancel(true);
    } catch (ExecutionException e) {
      told.addProperty("error", String.valueOf(e.getCause()));
    }
    return told;
  }

  private JsonArray carryOut(JsonObject found) throws Exception {
    boolean own = found.has("ownConnection") && found.get("ownConnection").getAsBoolean();
    Client client = own ? make(found) : client(found);
    try {
      Carrying.Doing doing = what -> ask(found.get("name"), what);
      List<Result> results =
          new Carrying(client, doing, threads, object(found, "client").has("codec"))
              .carryOut(found.getAsJsonArray("calls"));
      JsonArray outcomes = new JsonArray();
      results.forEach(result -> outcomes.add(Lines.outcome(result)));
      return outcomes;
    } finally {
      if (own) {
        client.close();
      }
    }
  }

  /** The client for all cases that want the same. */
  private Client client(JsonObject found) throws Exception {
    String key = found.get("target") + " " + found.get("tls") + " " + found.get("client");
    Client client = kept.get(key);
    if (client == null) {
      client = make(found);
      kept.put(key, client);
    }
    return client;
  }

  private Client make(JsonObject found) throws Exception {
    return making.make(
        found.get("target").getAsString(), object(found, "client"), object(found, "tls"));
  }

  private static JsonObject object(JsonObject found, String key) {
    JsonElement value = found.get(key);
    return value == null || value.isJsonNull() ? new JsonObject() : value.getAsJsonObject();
  }

  /** Has the runner do something, and waits until that is done. */
  private void ask(JsonElement name, String what) throws IOException, Failed {
    JsonObject line = new JsonObject();
    line.add("name", name);
    line.addProperty("do", what);
    console.print(JsonForm.tight(line));
    in.readLine();
  }
}
