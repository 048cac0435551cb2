package io.trunkcall.peer;

import io.trunkcall.load.Failed;
import io.trunkcall.load.UsageError;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Properties;

/** The command line: which command, how its failures are told, and the exit status. */
final class Program {
  static final String NAME = "peer-java";

  static final int OK = 0;
  static final int FAILED = 1;
  static final int WRONG_USAGE = 2;

  private static final String USAGE =
      """
      usage: peer-java COMMAND [FLAG…]

        serve    answer UserService and BenchService
        call     call a method, with JSON in and out
        bench    put load on a server and measure
        registry keep where servers are, for clients to find them
        conformance
                 carry out conformance cases, lines of JSON on stdin
        connect-server, connect-client
                 the two ends under test of the public suite of Connect
        version  print what this was built from
        help     print this

      peer-java COMMAND --help lists the flags of a command.
      """;

  private final Console console;
  private final InputStream in;

  Program(Console console, InputStream in) {
    this.console = console;
    this.in = in;
  }

  /** Carries out a command line and returns the exit status. */
  int run(List<String> words) {
    String command = words.isEmpty() ? "" : words.get(0);
    try {
      List<String> rest = words.isEmpty() ? words : words.subList(1, words.size());
      return switch (command) {
        case "serve" -> new ServeCommand(console).run(rest);
        case "call" -> new CallCommand(console).run(rest);
        case "bench" -> new BenchCommand(console).run(rest);
        case "registry" -> new RegistryCommand(console).run(rest);
        case "conformance" -> new ConformCommand(console, in).run(rest);
        case "connect-server" -> new ConnectCommand(console, in).server(rest);
        case "connect-client" -> new ConnectCommand(console, in).client(rest);
        case "version", "--version" -> printed(version());
        case "help", "-h", "--help" -> printed(USAGE.stripTrailing());
        case "" -> wrong(USAGE.stripTrailing());
        default ->
            wrong(NAME + ": there is no command \"" + command + "\"\n\n" + USAGE.stripTrailing());
      };
    } catch (UsageError wrong) {
      tell(command, wrong);
      return WRONG_USAGE;
    } catch (Failed failed) {
      tell(command, failed);
      return FAILED;
    } catch (InterruptedException interrupted) {
      return FAILED;
    }
  }

  private int printed(String text) throws Failed {
    console.print(text);
    return OK;
  }

  private int wrong(String text) {
    console.tell(text);
    return WRONG_USAGE;
  }

  private void tell(String command, Exception error) {
    console.tell(NAME + " " + command + ": " + Console.oneLine(String.valueOf(error.getMessage())));
  }

  /** What it is made of. */
  private static String version() {
    Properties made = new Properties();
    try (InputStream file = Program.class.getResourceAsStream("versions.properties")) {
      made.load(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return NAME
        + " trunkcall "
        + made.getProperty("trunkcall")
        + " netty "
        + made.getProperty("netty")
        + " protobuf "
        + made.getProperty("protobuf")
        + " Java "
        + Runtime.version();
  }
}
