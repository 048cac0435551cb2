package io.trunkcall.lab.grpc;

import io.grpc.BindableService;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.trunkcall.lab.program.Peer;
import io.trunkcall.lab.program.Program;
import io.trunkcall.lab.program.VirtualThreads;
import io.trunkcall.load.Address;
import io.trunkcall.load.Call;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import java.io.File;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Java-grpc is grpc-java on its own server and client, with stock stubs. */
public final class GrpcPeer implements Peer {
  /** Tuned, both sides have fixed windows, which spare the pings that estimate the path. */
  private static final int TUNED_WINDOW = 4 << 20;

  private static final long CONNECT_SECONDS = 10;

  private Flags.Value<Boolean> defaults;
  private Flags.Value<Boolean> virtual;
  private Flags.Value<Boolean> async;
  private Flags.Value<Boolean> connectionPerCall;
  private Flags.Value<String> certificate;
  private Flags.Value<String> key;
  private Flags.Value<String> trusted;

  public static void main(String[] words) {
    Program.main(GrpcPeer::new, words);
  }

  @Override
  public String name() {
    return "java-grpc";
  }

  @Override
  public List<String> methods() {
    return List.of("Say", "Echo", "EchoStream", "Emit");
  }

  @Override
  public void serveFlags(Flags flags) {
    defaultFlag(flags);
    virtual = VirtualThreads.flag(flags);
    certificate =
        flags.text("--tls-cert", "FILE", "", "certificate, PEM; the port then speaks TLS");
    key = flags.text("--tls-key", "FILE", "", "its key, PEM");
  }

  @Override
  public void benchFlags(Flags flags) {
    defaultFlag(flags);
    async = flags.toggle("--async", "use the asynchronous stub instead of the blocking one");
    connectionPerCall =
        flags.toggle("--connection-per-call", "make a connection for each call; for Say and Echo");
    trusted =
        flags.text("--tls-ca", "FILE", "", "speak TLS and trust the certificates in this file");
  }

  private void defaultFlag(Flags flags) {
    defaults = flags.toggle("--default", "grpc-java as it is, without the settings for throughput");
  }

  @Override
  public int serve(Address listen, Work work) throws Exception {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(listen.host(), listen.port()))
            .maxInboundMessageSize(Program.MAX_MESSAGE);
    for (BindableService service : List.of(new BenchService(work), new UserService())) {
      builder.addService(service);
    }
    if (!defaults.get()) {
      builder.flowControlWindow(TUNED_WINDOW);
      if (work.plain()) {
        // What the event loop runs itself must not wait.
        builder.directExecutor();
      }
    }
    if (virtual.get()) {
      builder.executor(VirtualThreads.executor());
    }
    if (certificate.given() != key.given()) {
      throw new UsageError("--tls-cert and --tls-key go together");
    }
    if (certificate.given()) {
      builder.useTransportSecurity(
          readable("--tls-cert", certificate.get()), readable("--tls-key", key.get()));
    }
    return builder.build().start().getPort();
  }

  @Override
  public Calls bench(Options options) throws Exception {
    boolean streams = options.method().equals("EchoStream") || options.method().equals("Emit");
    if (connectionPerCall.get() && (streams || async.get())) {
      throw new UsageError("--connection-per-call is for blocking calls of Say and Echo");
    }
    NettyChannelBuilder builder = channels(options.target());
    if (connectionPerCall.get()) {
      Call call = () -> coldCall(builder, options);
      return Calls.blocking(options.spread(List.of(call)), List.of());
    }
    List<ManagedChannel> channels = new ArrayList<>();
    for (int i = 0; i < options.connections(); i++) {
      channels.add(connect(builder, options.target()));
    }
    List<AutoCloseable> closing = new ArrayList<>();
    channels.forEach(channel -> closing.add(channel::shutdownNow));
    List<ManagedChannel> dealt = options.spread(channels);
    if (streams) {
      List<Stream> all = dealt.stream().map(channel -> Stream.open(channel, options)).toList();
      return Calls.async(all.stream().map(Stream::receipts).toList(), closing);
    }
    if (async.get()) {
      return Calls.async(dealt.stream().map(c -> UnaryCalls.async(c, options)).toList(), closing);
    }
    return Calls.blocking(
        dealt.stream().map(c -> UnaryCalls.blocking(c, options)).toList(), closing);
  }

  private NettyChannelBuilder channels(Address target) throws Exception {
    NettyChannelBuilder builder =
        NettyChannelBuilder.forAddress(target.host(), target.port())
            .maxInboundMessageSize(Program.MAX_MESSAGE)
            .proxyDetector(address -> null);
    if (!defaults.get()) {
      builder.directExecutor().flowControlWindow(TUNED_WINDOW);
    }
    if (trusted.given()) {
      builder.sslContext(
          GrpcSslContexts.forClient().trustManager(readable("--tls-ca", trusted.get())).build());
    } else {
      builder.usePlaintext();
    }
    return builder;
  }

  private static File readable(String flag, String path) throws UsageError {
    File file = new File(path);
    if (!file.canRead()) {
      throw new UsageError(flag + " " + path + ": cannot be read");
    }
    return file;
  }

  /** Makes a channel, which is one connection, and waits until that stands. */
  private static ManagedChannel connect(NettyChannelBuilder builder, Address target)
      throws Failed, InterruptedException {
    ManagedChannel channel = builder.build();
    while (true) {
      ConnectivityState state = channel.getState(true);
      if (state == ConnectivityState.READY) {
        return channel;
      }
      CountDownLatch changed = new CountDownLatch(1);
      channel.notifyWhenStateChanged(state, changed::countDown);
      if (state == ConnectivityState.TRANSIENT_FAILURE
          || !changed.await(CONNECT_SECONDS, TimeUnit.SECONDS)) {
        channel.shutdownNow();
        throw new Failed("no connection to " + target);
      }
    }
  }

  /**
   * Makes a connection and a call, which ends with its answer: the end of the connection is not
   * waited for.
   */
  private static void coldCall(NettyChannelBuilder builder, Options options) throws Exception {
    ManagedChannel channel = builder.build();
    try {
      UnaryCalls.blocking(channel, options).make();
    } finally {
      channel.shutdown();
    }
  }
}
