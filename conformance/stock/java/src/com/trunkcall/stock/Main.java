package com.trunkcall.stock;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.grpc.ManagedChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Carries out conformance cases with grpc-java, unmodified, and the code that its plugin generates.
 * conformance/cases/README.md describes the lines that it reads and prints.
 */
public final class Main {
  private final BufferedReader lines =
      new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
  private final PrintStream results = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private final Map<JsonObject, ManagedChannel> kept = new HashMap<>();

  public static void main(String[] args) throws IOException {
    new Main().run();
  }

  private void run() throws IOException {
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject one = JsonParser.parseString(line).getAsJsonObject();
      JsonObject told = new JsonObject();
      told.add("name", one.get("name"));
      try {
        told.add("outcomes", carryOut(one));
      } catch (Exception error) {
        told.addProperty("error", error.toString());
      }
      tell(told);
    }
    kept.values().forEach(ManagedChannel::shutdownNow);
    System.exit(0); // whatever a case that has failed left behind
  }

  private JsonArray carryOut(JsonObject one) throws Exception {
    ManagedChannel channel = channel(one);
    try {
      channel.resetConnectBackoff();
      return new Carrying(channel, one.getAsJsonObject("client"), what -> askFor(one, what))
          .carryOut(one.getAsJsonArray("calls"));
    } finally {
      if (Lines.isSet(one, "ownConnection")) {
        channel.shutdownNow();
      }
    }
  }

  /** One of the case's own, or the one for all cases that want the same. */
  private ManagedChannel channel(JsonObject one) throws IOException {
    if (Lines.isSet(one, "ownConnection")) {
      return Channels.make(one);
    }
    JsonObject key = new JsonObject();
    for (String name : new String[] {"target", "tls", "client"}) {
      key.add(name, one.get(name));
    }
    ManagedChannel channel = kept.get(key);
    if (channel == null) {
      channel = Channels.make(one);
      Channels.warm(channel);
      kept.put(key, channel);
    }
    return channel;
  }

  /** Has the runner do something, and waits until that is done. */
  private void askFor(JsonObject one, String what) throws IOException {
    JsonObject line = new JsonObject();
    line.add("name", one.get("name"));
    line.addProperty("do", what);
    tell(line);
    lines.readLine();
  }

  private void tell(JsonObject line) {
    results.println(line);
  }
}
