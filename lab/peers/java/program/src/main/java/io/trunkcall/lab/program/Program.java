package io.trunkcall.lab.program;

import io.trunkcall.load.Address;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/** The commands: serve, bench and version, with the flags and the output of lab/README.md. */
public final class Program {
  /** Lets payloads be as large as Trunkcall takes them by default. */
  public static final int MAX_MESSAGE = 64 << 20;

  private final Peer peer;
  private final PrintStream out;
  private final PrintStream err;

  private Program(Peer peer, PrintStream out, PrintStream err) {
    this.peer = peer;
    this.out = out;
    this.err = err;
  }

  /** Runs the program and ends the process. */
  public static void main(Supplier<? extends Peer> peer, String[] words) {
    System.exit(run(peer, List.of(words), System.out, System.err));
  }

  /**
   * Returns the exit status: 0 all went well, 1 something failed, 2 the command line asks for what
   * is not there.
   */
  public static int run(
      Supplier<? extends Peer> peer, List<String> words, PrintStream out, PrintStream err) {
    Program program = new Program(peer.get(), out, err);
    try {
      return program.carryOut(words);
    } catch (UsageError e) {
      return program.failed(2, e.getMessage());
    } catch (Failed e) {
      return program.failed(1, e.getMessage());
    } catch (Exception e) {
      return program.failed(1, Failed.told(e));
    }
  }

  private int failed(int status, String why) {
    err.println(peer.name() + ": " + Failed.oneLine(why));
    return status;
  }

  private int carryOut(List<String> words) throws Exception {
    List<String> flags = words.isEmpty() ? words : words.subList(1, words.size());
    switch (words.isEmpty() ? "" : words.get(0)) {
      case "serve" -> {
        return serve(flags);
      }
      case "bench" -> {
        return bench(flags);
      }
      case "version" -> {
        out.println(version());
        return 0;
      }
      default ->
          throw new UsageError(
              "want serve --listen HOST:PORT, bench --target HOST:PORT or version");
    }
  }

  private int serve(List<String> words) throws Exception {
    Flags flags = new Flags(peer.name() + " serve");
    Flags.Value<String> listen =
        flags.text("--listen", "HOST:PORT", "", "address to listen on; port 0 takes a free one");
    Flags.Value<Work> work = Work.flag(flags);
    peer.serveFlags(flags);
    if (!flags.parse(words)) {
      out.print(flags.help());
      return 0;
    }
    if (!listen.given()) {
      throw new UsageError("--listen is needed");
    }
    Address address = Address.parse("--listen", listen.get());
    int port = peer.serve(address, work.get());
    // A signal is the good end; what frameworks do when the process ends is not waited for.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
    out.println("listening " + address.at(port));
    out.flush();
    new CountDownLatch(1).await();
    return 0;
  }

  private int bench(List<String> words) throws Exception {
    Flags flags = new Flags(peer.name() + " bench");
    Options options = new Options(flags, peer.methods());
    peer.benchFlags(flags);
    if (!flags.parse(words)) {
      out.print(flags.help());
      return 0;
    }
    options.check();
    try (Calls calls = peer.bench(options)) {
      return calls.run(options.config()).tell(peer.name(), options.rate(), out, err);
    }
  }

  /** What is measured, as it was built in, and on which runtime. */
  private String version() throws IOException {
    Properties built = new Properties();
    try (InputStream file = peer.getClass().getResourceAsStream("peer.properties")) {
      built.load(file);
    }
    return String.format(
        "%s %s, %s %s",
        peer.name(),
        built.getProperty("libraries"),
        System.getProperty("java.vm.name"),
        System.getProperty("java.version"));
  }
}
