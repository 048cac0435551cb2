package io.trunkcall.internal.policy;

import io.trunkcall.internal.policy.Reading.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A policy file. It does not change. */
public final class PolicyFile {
  /** How many bytes it may have. */
  public static final int LONGEST = Tree.LONGEST_FILE;

  private static final Form<Boolean> VERSION =
      (reading, node, path) -> {
        @Nullable Long number = Form.wholeNumber(node);
        if (number == null || number != 1) {
          reading.wants("1", node, path);
        }
        return true;
      };

  private static final Form<BudgetRules> BUDGET =
      (reading, node, path) -> {
        Said said =
            reading.mapping(
                node,
                path,
                List.of(
                    Field.of("percent", Form.whole(0, 100)),
                    Field.of("least", Form.whole(0, 1_000_000))),
                List.of());
        BudgetRules otherwise = BudgetRules.DEFAULT;
        return new BudgetRules(
            said.number("percent", otherwise.percent()), said.number("least", otherwise.least()));
      };

  private static final List<Field> FIELDS =
      List.of(
          Field.required("policy", VERSION),
          Field.of("budget", BUDGET),
          Field.of("defaults", Scope::defaults),
          Field.of("services", Scope::services));

  private final BudgetRules budget;
  private final List<Scope> widest; // the defaults, if there are any
  private final Map<String, Scope> services = new HashMap<>();
  private final List<Scope> inOrder; // the services

  private PolicyFile(Said said) {
    budget = said.value("budget", BudgetRules.DEFAULT);
    @Nullable Scope defaults = said.value("defaults");
    widest = defaults == null ? List.of() : List.of(defaults);
    inOrder = said.value("services", List.of());
    inOrder.forEach(service -> services.put(service.name(), service));
  }

  /** Reads a file in JSON or YAML. */
  public static PolicyFile parse(byte[] data) throws BadFileException {
    Node root = Tree.read(data);
    Reading reading = new Reading();
    Said said = reading.mapping(root, "", FIELDS, List.of());
    if (reading.count() == 0) {
      PolicyFile file = new PolicyFile(said);
      file.visit((scopes, ofMethod) -> contradictions(reading, scopes, ofMethod));
      if (reading.count() == 0) {
        return file;
      }
    }
    throw new BadFileException(reading.faults());
  }

  /** What bounds all repetitions of a client. */
  public BudgetRules budget() {
    return budget;
  }

  /** What holds for a method, both by their names without slashes. */
  public Holds holds(String service, String method) {
    List<Scope> scopes = new ArrayList<>(widest);
    @Nullable Scope named = services.get(service);
    boolean ofMethod = false;
    if (named != null) {
      scopes.add(named);
      for (Scope one : named.methods()) {
        if (one.name().equals(method)) {
          scopes.add(one);
          ofMethod = true;
        }
      }
    }
    return Holds.in(scopes, ofMethod);
  }

  /** Is told of each scope of a file. */
  public interface Visitor {
    /** What holds in a scope of that line and path. */
    void visit(int line, String path, Holds holds);
  }

  /** Visits all scopes in the order of the file, defaults first. */
  public void each(Visitor visitor) {
    visit(
        (scopes, ofMethod) -> {
          Scope last = scopes.get(scopes.size() - 1);
          visitor.visit(last.line(), last.path(), Holds.in(scopes, ofMethod));
        });
  }

  private interface ScopesVisitor {
    void visit(List<Scope> scopes, boolean ofMethod);
  }

  /** Visits the scopes in order, each the last of a list with those that it narrows. */
  private void visit(ScopesVisitor visitor) {
    if (!widest.isEmpty()) {
      visitor.visit(widest, false);
    }
    for (Scope service : inOrder) {
      List<Scope> scopes = new ArrayList<>(widest);
      scopes.add(service);
      visitor.visit(scopes, false);
      for (Scope method : service.methods()) {
        scopes.add(method);
        visitor.visit(scopes, true);
        scopes.remove(scopes.size() - 1);
      }
    }
  }

  /** Tells what contradicts itself in what holds in the last of the scopes (policy.md 5.5). */
  private static void contradictions(Reading reading, List<Scope> scopes, boolean ofMethod) {
    Scope scope = scopes.get(scopes.size() - 1);
    Said said = scope.said();
    if (!said.has("timeout")
        && !said.has("idempotent")
        && !said.has("retries")
        && !said.has("hedging")) {
      return;
    }
    Holds holds = Holds.in(scopes, ofMethod);
    if (says(said, "retries") && says(said, "hedging")) {
      reading.fault(scope.line(), scope.path(), "retries-and-hedging: one scope has both");
    }
    HedgeRules hedging = holds.hedging();
    if (hedging != null && !holds.idempotent()) {
      reading.fault(scope.line(), scope.path(), "hedging-not-idempotent: hedging wants idempotent");
    }
    RetryRules retries = holds.retries();
    long timeout = holds.timeout() == 0 ? Long.MAX_VALUE : holds.timeout();
    if (retries != null && retries.attempts() > 1 && timeout <= retries.backoff()) {
      reading.fault(
          scope.line(),
          scope.path(),
          "timeout-below-backoff: timeout is not above backoff of retries");
    }
    if (hedging != null && timeout <= hedging.delay()) {
      reading.fault(
          scope.line(), scope.path(), "timeout-below-delay: timeout is not above delay of hedging");
    }
  }

  private static boolean says(Said said, String group) {
    return said.has(group) && said.value(group, Said.NONE) != Said.NONE;
  }
}
