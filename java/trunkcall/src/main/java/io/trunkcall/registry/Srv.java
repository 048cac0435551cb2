package io.trunkcall.registry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import javax.naming.Context;
import javax.naming.NameNotFoundException;
import javax.naming.NamingEnumeration;
import javax.naming.NamingException;
import javax.naming.directory.Attribute;
import javax.naming.directory.DirContext;
import javax.naming.directory.InitialDirContext;

/**
 * Finds servers by records of DNS of type SRV: those of SERVICE are asked for as {@code
 * _SERVICE._tcp.DOMAIN}, with {@code -} for each {@code .} of SERVICE (registry.md 8). It asks by
 * JNDI, the JDK's module jdk.naming.dns.
 */
public final class Srv implements Source {
  private static final Duration INTERVAL = Duration.ofSeconds(30); // a fifth more or less
  private static final Duration PAUSE = Duration.ofSeconds(5); // after an endpoint has failed

  private final String domain;
  private final String servers;

  /** One that asks the machine's own servers of names. */
  public Srv(String domain) {
    this(domain, "dns:");
  }

  /** One that asks other servers, by JNDI's name for them: {@code dns://10.0.0.1:53}. */
  public Srv(String domain, String servers) {
    this.domain = domain;
    this.servers = servers;
  }

  /** An answer, as DNS has it. */
  record Answer(String target, int port, int priority, int weight) {
    boolean useful() {
      return !target.equals(".") && port != 0;
    }

    /** Reads it as JNDI writes it. */
    static Answer of(String text) throws RegistryException {
      String[] parts = text.split(" ", -1);
      try {
        return new Answer(
            parts[3],
            Integer.parseInt(parts[2]),
            Integer.parseInt(parts[0]),
            Integer.parseInt(parts[1]));
      } catch (NumberFormatException | ArrayIndexOutOfBoundsException none) {
        throw new RegistryException("DNS answers \"" + text + "\", which is no SRV");
      }
    }

    /** The entry, which is rubbish where it makes no record. */
    Entry entry(String service) {
      String host = target.endsWith(".") ? target.substring(0, target.length() - 1) : target;
      String address = host + ":" + port;
      ServiceRecord record =
          ServiceRecord.builder(service, Names.idOf(address), address)
              .serverName(host)
              .weight(weight)
              .build();
      try {
        return Entry.of(record.id(), record.toBytes(), "SRV " + target);
      } catch (InvalidRecordException fault) {
        return Entry.faulty(record.id(), "SRV " + target, String.valueOf(fault.getMessage()));
      }
    }
  }

  @Override
  public void watch(String service, Watcher watcher) throws Exception {
    String question = question(service, domain);
    watcher.askFor(question);
    while (true) {
      List<Answer> answers;
      try {
        answers = ask(question);
      } catch (NamingException | RegistryException fault) {
        throw new RegistryException(question + ": " + RegistryException.spelled(fault), fault);
      }
      watcher.all(entries(service, answers));
      double part = 0.8 + 0.4 * ThreadLocalRandom.current().nextDouble();
      if (watcher.awaitFailure(Duration.ofMillis((long) (INTERVAL.toMillis() * part)))) {
        Thread.sleep(PAUSE.toMillis());
      }
    }
  }

  static String question(String service, String domain) {
    return "_" + service.replace('.', '-') + "._tcp." + domain;
  }

  /** The entries that answers make. */
  static List<Entry> entries(String service, List<Answer> answers) {
    List<Answer> useful = answers.stream().filter(Answer::useful).toList();
    int lowest = useful.stream().mapToInt(Answer::priority).min().orElse(0);
    List<Entry> found = new ArrayList<>();
    for (Answer one : useful) {
      if (one.priority() == lowest) {
        found.add(one.entry(service));
      }
    }
    return found;
  }

  // JNDI takes no other map; and of its ways to answer with objects, DNS with types has none.
  @SuppressWarnings({"JdkObsolete", "BanJNDI"})
  private List<Answer> ask(String question) throws NamingException, RegistryException {
    Hashtable<String, String> how = new Hashtable<>();
    how.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.dns.DnsContextFactory");
    how.put(Context.PROVIDER_URL, servers);
    DirContext dns = new InitialDirContext(how);
    try {
      Attribute answers = dns.getAttributes(question, new String[] {"SRV"}).get("SRV");
      List<Answer> found = new ArrayList<>();
      if (answers != null) {
        NamingEnumeration<?> each = answers.getAll();
        while (each.hasMore()) {
          found.add(Answer.of(String.valueOf(each.next())));
        }
      }
      return found;
    } catch (NameNotFoundException none) {
      return List.of();
    } finally {
      dns.close();
    }
  }

  @Override
  public String toString() {
    return "srv:" + domain;
  }
}
