package io.trunkcall.peer;

import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import io.trunkcall.peer.conformance.CasesClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.logging.Level;

/** The conformance command: carries out the cases on standard input. */
final class ConformCommand {
  private final Console console;
  private final InputStream in;
  private final Flags flags = PeerFlags.of("conformance");

  ConformCommand(Console console, InputStream in) {
    this.console = console;
    this.in = in;
  }

  int run(List<String> words) throws UsageError, Failed, InterruptedException {
    if (!flags.parse(words)) {
      console.print(
          flags.help()
              + "\nReads cases from stdin, a line of JSON each, carries them out one after the\n"
              + "other, and prints a line for each; conformance/cases/README.md describes both.");
      return Program.OK;
    }
    Log.begin(console, Level.WARNING);
    BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    try {
      new CasesClient(lines, console, Clients::forCase).run();
    } catch (IOException e) {
      throw new Failed("stdin: " + e.getMessage(), e);
    }
    return Program.OK;
  }
}
