package io.trunkcall.registry;

import com.trunkcall.registry.v1.PublishAnswer;
import com.trunkcall.registry.v1.PublishRequest;
import com.trunkcall.registry.v1.WatchAnswer;
import com.trunkcall.registry.v1.WatchRequest;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.ClientStream;
import io.trunkcall.Codec;
import io.trunkcall.Method;
import io.trunkcall.StatusException;
import io.trunkcall.internal.client.Unreached;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The embedded registry, which a process of any language serves, by its address (registry.md 9):
 * the default on one machine. Each server and each service that is watched has a connection of its
 * own to it.
 */
public final class Embedded implements Store {
  static final Method<PublishRequest, PublishAnswer> PUBLISH =
      Method.bidiStream(
          "/trunkcall.registry.v1.Registry/Publish",
          Codec.protobuf(PublishRequest.getDefaultInstance()),
          Codec.protobuf(PublishAnswer.getDefaultInstance()));

  static final Method<WatchRequest, WatchAnswer> WATCH =
      Method.serverStream(
          "/trunkcall.registry.v1.Registry/Watch",
          Codec.protobuf(WatchRequest.getDefaultInstance()),
          Codec.protobuf(WatchAnswer.getDefaultInstance()));

  static final CallOptions ENDLESS = CallOptions.NONE.withoutTimeout();

  private static final Duration ASKS_AFTER = Duration.ofSeconds(10);
  private static final Duration ANSWERS_WITHIN = Duration.ofSeconds(10);

  private final String address;
  private final Consumer<ClientBuilder> options;

  /** The registry at an address. */
  public Embedded(String address) {
    this(address, client -> {});
  }

  /**
   * The registry at an address, whose connections are those of clients with options, such as {@code
   * client -> client.tls(tls)}.
   *
   * @throws IllegalArgumentException for what is no single address of at most 255 bytes
   */
  public Embedded(String address, Consumer<ClientBuilder> options) {
    String why = Names.whyNoAddress(address);
    if (why != null) {
      throw new IllegalArgumentException(why);
    }
    if (address.contains(",") || !Names.isText(address, Names.MOST_ADDRESS)) {
      throw new IllegalArgumentException("want one address of at most 255 bytes");
    }
    this.address = address;
    this.options = Objects.requireNonNull(options, "options");
  }

  private Client connect() {
    ClientBuilder builder = Client.builder(address).keepalive(ASKS_AFTER, ANSWERS_WITHIN);
    options.accept(builder);
    // Who asks the registry tells once that it cannot be reached, and not at each attempt.
    Unreached.atDebugLevel(builder);
    return builder.build();
  }

  @Override
  public void watch(String service, Watcher watcher) throws Exception {
    WatchRequest request = WatchRequest.newBuilder().setService(service).build();
    try (Client client = connect();
        ClientStream<WatchRequest, WatchAnswer> answers = client.stream(WATCH, request, ENDLESS)) {
      EmbeddedTellings tellings = new EmbeddedTellings(watcher::all, watcher::change);
      for (WatchAnswer one = answers.receive(); one != null; one = answers.receive()) {
        tellings.take(one);
      }
    } catch (StatusException failed) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      throw failed;
    }
    throw new RegistryException("the registry tells no more");
  }

  @Override
  public void keep(List<Written> records, Runnable published) throws Exception {
    try (Client client = connect()) {
      new EmbeddedKeeping(client, records).keep(published);
    }
  }

  @Override
  public String toString() {
    return "trunkcall:" + address;
  }
}
