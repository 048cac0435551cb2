package io.trunkcall.internal.policy;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HexFormat;

/**
 * The program that carries out cases of policies (conformance/peer.md, section 10): a case in JSON
 * on each line of standard input, its outcome on a line of standard output.
 */
public final class PolicyPlay {
  static final ObjectMapper JSON = new ObjectMapper();

  private PolicyPlay() {}

  /** Carries cases out until there are no more. */
  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    PrintStream out = new PrintStream(System.out, true, UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(play(JSON.readTree(line)));
    }
  }

  /** The outcome of a case. */
  static ObjectNode play(JsonNode given) throws BadFileException, IOException {
    if (given.has("file")) {
      return file(HexFormat.of().parseHex(given.get("file").asText()), given.path("methods"));
    }
    PolicyFile file = PolicyFile.parse(JSON.writeValueAsBytes(given.get("policy")));
    Holds holds = file.holds("package.Service", "Method");
    PlayedCores.Core core = PlayedCores.begin(given.get("core").asText(), file, holds);
    ObjectNode outcome = JSON.createObjectNode();
    ArrayNode decisions = outcome.putArray("decisions");
    for (JsonNode event : given.get("steps")) {
      Step step = new Step(event, decisions.size());
      ObjectNode decision = JSON.createObjectNode();
      core.take(step, decision);
      if (step.drawn() > 0) {
        decision.put("drawn", step.drawn());
      }
      decisions.add(decision);
    }
    return outcome;
  }

  /** What a file says of methods, or its faults. */
  static ObjectNode file(byte[] data, JsonNode methods) {
    ObjectNode outcome = JSON.createObjectNode();
    try {
      PolicyFile file = PolicyFile.parse(data);
      BudgetRules budget = file.budget();
      outcome.putObject("budget").put("percent", budget.percent()).put("least", budget.least());
      ObjectNode holds = outcome.putObject("methods");
      for (JsonNode name : methods) {
        String[] parts = name.asText().split("/", 2);
        holds.set(name.asText(), Telling.holds(file.holds(parts[0], parts[1])));
      }
    } catch (BadFileException bad) {
      ArrayNode faults = outcome.putArray("faults");
      bad.faults().forEach(fault -> faults.add(fault.toString()));
    }
    return outcome;
  }
}
