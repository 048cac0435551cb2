package io.trunkcall.lab.dubbo;

import com.google.protobuf.ByteString;
import com.trunkcall.bench.v1.BenchService;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Payload;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.program.Peer;
import io.trunkcall.lab.program.Program;
import io.trunkcall.load.Address;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Call;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/**
 * Java-dubbo is Apache Dubbo 3 with its protocol Triple, and stubs that its compiler generates from
 * the .proto file. All calls to an address share one connection.
 */
public final class DubboPeer implements Peer {
  private static final String PROTOCOL = "tri";
  private static final int TIMEOUT_MILLIS = 10_000;

  static {
    // Read before any other setting of Dubbo's.
    System.setProperty("dubbo.application.logger", "slf4j");
  }

  private Flags.Value<Boolean> async;

  public static void main(String[] words) {
    Program.main(DubboPeer::new, words);
  }

  @Override
  public String name() {
    return "java-dubbo";
  }

  @Override
  public List<String> methods() {
    return List.of("Say", "Echo");
  }

  @Override
  public void benchFlags(Flags flags) {
    async = flags.toggle("--async", "use the methods that give a future");
  }

  /** Without a registry, a port for administrators, and files in the home. */
  private DubboBootstrap application() {
    ApplicationConfig application = new ApplicationConfig(name());
    application.setQosEnable(false);
    application.setEnableFileCache(false);
    return DubboBootstrap.newInstance()
        .application(application)
        .registry(new RegistryConfig(RegistryConfig.NO_AVAILABLE));
  }

  @Override
  public int serve(Address listen, Work work) throws IOException {
    int port = listen.port() > 0 ? listen.port() : freePort(listen.host());
    ProtocolConfig protocol = new ProtocolConfig(PROTOCOL, port);
    protocol.setHost(hostOf(listen));
    ServiceConfig<BenchService> service = new ServiceConfig<>();
    service.setInterface(BenchService.class);
    service.setRef(new Service(work));
    application().protocol(protocol).service(service).start();
    return port;
  }

  /**
   * Dubbo takes another of the machine's addresses for 127.0.0.1: it would listen on all of them,
   * and call the first. It does not know that address as one number, which Java does.
   */
  private static String hostOf(Address address) throws IOException {
    InetAddress found = InetAddress.getByName(address.host());
    if (found instanceof Inet4Address && found.isLoopbackAddress()) {
      return Integer.toUnsignedString(ByteBuffer.wrap(found.getAddress()).getInt());
    }
    return address.host();
  }

  /** Dubbo takes its own favourite port in place of 0. */
  private static int freePort(String host) throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(host))) {
      return socket.getLocalPort();
    }
  }

  @Override
  public Calls bench(Options options) throws UsageError, Failed, IOException {
    if (options.connections() > 1) {
      throw new UsageError("--connections above 1: Dubbo has one connection to an address");
    }
    ReferenceConfig<BenchService> reference = new ReferenceConfig<>();
    reference.setInterface(BenchService.class);
    reference.setUrl(PROTOCOL + "://" + hostOf(options.target()) + ":" + options.target().port());
    reference.setTimeout(TIMEOUT_MILLIS);
    reference.setRetries(0);
    DubboBootstrap bootstrap = application().reference(reference);
    BenchService client;
    try {
      bootstrap.start();
      client = reference.get();
    } catch (RuntimeException e) {
      throw new Failed("no connection to " + options.target() + ": " + Failed.told(e), e);
    }
    List<AutoCloseable> closing = List.of(bootstrap::destroy);
    return async.get()
        ? Calls.async(Collections.nCopies(options.callers(), asyncCall(client, options)), closing)
        : Calls.blocking(Collections.nCopies(options.callers(), call(client, options)), closing);
  }

  private static Call call(BenchService client, Options options) {
    if (options.method().equals("Say")) {
      BenchmarkMessage request = BenchMessages.request();
      return () -> BenchMessages.check(client.say(request));
    }
    Payload request = BenchMessages.payload(options.size());
    ByteString want = request.getData();
    return () -> BenchMessages.checkData(client.echo(request).getData(), want);
  }

  private static AsyncCall asyncCall(BenchService client, Options options) {
    if (options.method().equals("Say")) {
      BenchmarkMessage request = BenchMessages.request();
      return ended -> whenDone(client.sayAsync(request), BenchMessages::check, ended);
    }
    Payload request = BenchMessages.payload(options.size());
    ByteString want = request.getData();
    return ended ->
        whenDone(
            client.echoAsync(request),
            answer -> BenchMessages.checkData(answer.getData(), want),
            ended);
  }

  private interface Check<T> {
    void check(T answer) throws Exception;
  }

  private static <T> void whenDone(
      CompletableFuture<T> future, Check<T> check, AsyncCall.Ended ended) {
    future.whenComplete(
        (answer, failure) -> {
          Throwable how = failure;
          if (how == null) {
            try {
              check.check(answer);
            } catch (Exception e) {
              how = e;
            }
          }
          ended.ended(how);
        });
  }
}
