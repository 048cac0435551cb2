package io.trunkcall.peer;

import com.google.gson.JsonObject;
import com.google.protobuf.DynamicMessage;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.Code;
import io.trunkcall.Compression;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import io.trunkcall.registry.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;

/**
 * The call command: one call. Its outcome is all that it prints: answers on stdout, a failure on
 * stderr.
 */
final class CallCommand {
  private static final String MESSAGE_PACK = "msgpack";
  private static final String JSON = "json";

  private final Console console;
  private final Flags flags = PeerFlags.of("call");
  private final Metadata.Builder metadata = Metadata.builder();
  private final Flags.Value<String> target =
      flags.text(
          "--target", "ADDR", "", "HOST:PORT, unix:PATH, ws://HOST:PORT/PATH or wss://… to call");
  private final Flags.Value<Duration> timeout =
      PeerFlags.timeAboveZero(
          flags, "--timeout", "for connecting and the call together; none unless given");
  private final Flags.Value<Optional<Compression>> compression =
      PeerFlags.compression(flags, "requests");
  private final Flags.Value<Optional<Source>> registry = PeerFlags.registry(flags);
  private final Security security = Security.ofClient(flags);
  private final Flags.Value<String> codec =
      flags.choice(
          "--codec",
          List.of(PeerFlags.TYPED, PeerFlags.STOCK, MESSAGE_PACK, JSON),
          "name of the codec; msgpack, unless given, or json of a code-first call");

  CallCommand(Console console) {
    this.console = console;
    flags.add(
        "--metadata",
        "KEY=VALUE",
        "",
        "to send with the call, any number of times; the value of a key that ends in -bin is base64",
        text -> {
          addEntry(text);
          return text;
        });
  }

  private void addEntry(String pair) throws UsageError {
    int equals = pair.indexOf('=');
    if (equals < 1) {
      throw new UsageError("want KEY=VALUE");
    }
    String key = pair.substring(0, equals).toLowerCase(Locale.ROOT);
    String value = pair.substring(equals + 1);
    if (!key.endsWith("-bin")) {
      metadata.add(key, value);
      return;
    }
    try {
      metadata.add(key, Base64.getDecoder().decode(value.replaceAll("=+$", "")));
    } catch (IllegalArgumentException e) {
      throw new UsageError("the value of a key that ends in -bin is base64: " + e.getMessage());
    }
  }

  int run(List<String> words) throws UsageError, Failed, InterruptedException {
    List<String> others = new ArrayList<>();
    if (!flags.parse(words, others)) {
      console.print(help());
      return Program.OK;
    }
    if (!target.given()) {
      throw new UsageError("--target is needed");
    }
    if (others.size() < 2) {
      throw new UsageError("METHOD and JSON are needed");
    }
    if (others.size() > 2) {
      throw new UsageError(
          "there is nothing to do with \"" + others.get(2) + "\" after METHOD and JSON");
    }
    boolean codeFirst = CodeFirstCall.is(others.get(0), others.get(1));
    boolean stock = codec.get().equals(PeerFlags.STOCK);
    boolean ofOther =
        codeFirst ? stock || codec.get().equals(PeerFlags.TYPED) : codec.get().equals(MESSAGE_PACK);
    if (codec.given() && ofOther) {
      throw new UsageError(
          "--codec "
              + codec.get()
              + (codeFirst
                  ? ": for a code-first method want msgpack or json"
                  : ": for this method want protobuf, protobuf-stock or json"));
    }
    Log.begin(console, Level.OFF);
    ClientBuilder builder =
        Clients.builder(target.get(), security.tls(), compression.get(), registry.get());
    try (Client client = Clients.build(builder)) {
      CallOptions options = CallOptions.NONE.withMetadata(metadata.build());
      if (codeFirst) {
        Object arguments = CodeFirstCall.arguments(others.get(1));
        Duration left = connect(client);
        options = left == null ? options : options.withTimeout(left);
        console.print(CodeFirstCall.call(client, others.get(0), arguments, codec.get(), options));
        return Program.OK;
      }
      KnownMethod method = KnownMethod.find(others.get(0), codec.get().equals(JSON));
      List<DynamicMessage> requests = method.parse(others.get(1));
      KnownMethod.Taker take = answer -> console.print(JsonForm.line(answer));
      Duration left = connect(client);
      if (stock) {
        StockCall.invoke(client, method, requests, metadata.build(), left, take);
      } else {
        options = left == null ? options : options.withTimeout(left);
        method.invoke(client, requests, options, take);
      }
      return Program.OK;
    } catch (StatusException failed) {
      tell(failed.status());
      return Program.FAILED;
    }
  }

  /**
   * Waits until the server has greeted, so that nothing is sent to one that turns the client away.
   *
   * @return what is left of the timeout, null if there is none
   */
  private @Nullable Duration connect(Client client) throws InterruptedException {
    CompletableFuture<@Nullable Void> connecting = client.connect();
    long end = System.nanoTime() + timeout.get().toNanos();
    try {
      if (!timeout.given()) {
        connecting.get();
        return null;
      }
      connecting.get(timeout.get().toNanos(), TimeUnit.NANOSECONDS);
      long left = end - System.nanoTime();
      if (left > 0) {
        return Duration.ofNanos(left);
      }
    } catch (TimeoutException late) {
      // told below
    } catch (ExecutionException e) {
      throw e.getCause() instanceof StatusException failed ? failed : new IllegalStateException(e);
    }
    String text = target.get() + ": the deadline passed before there was a connection";
    throw new StatusException(
        Status.of(Code.DEADLINE_EXCEEDED, text).withDelivery(Delivery.NOT_SENT));
  }

  /** Prints a failure as the one line of stderr. */
  private void tell(Status status) {
    JsonObject failure = new JsonObject();
    failure.addProperty("code", status.code().name());
    failure.addProperty("message", Console.oneLine(status.message()));
    failure.add("details", JsonForm.details(status));
    failure.addProperty("delivery", status.delivery().word());
    console.tell(JsonForm.tight(failure));
  }

  private String help() {
    return flags.help()
        + "\nand METHOD JSON: METHOD is one of\n"
        + KnownMethod.list()
        + "or any code-first method, such as calc/div. JSON is the request; for client-streaming\n"
        + "and bidi-streaming methods an array of requests, for code-first ones of arguments.\n\n"
        + "A failure is one line of JSON on stderr, with exit status 1; a command line that is\n"
        + "wrong is told in words, with exit status 2.";
  }
}
