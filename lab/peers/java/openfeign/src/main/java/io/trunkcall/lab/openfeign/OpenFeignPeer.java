package io.trunkcall.lab.openfeign;

import feign.Client;
import feign.Feign;
import feign.Retryer;
import feign.codec.Decoder;
import feign.codec.Encoder;
import feign.hc5.ApacheHttp5Client;
import feign.jackson.JacksonDecoder;
import feign.jackson.JacksonEncoder;
import io.trunkcall.lab.program.Peer;
import io.trunkcall.lab.program.Program;
import io.trunkcall.lab.program.VirtualThreads;
import io.trunkcall.load.Address;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Java-openfeign is OpenFeign's client and a controller of Spring Boot, on its embedded Tomcat,
 * over HTTP/1.1. A connection carries one call at a time.
 */
public final class OpenFeignPeer implements Peer {
  static final String JSON = "json";
  static final String PROTOBUF = "protobuf";

  private Flags.Value<Boolean> defaults;
  private Flags.Value<Boolean> virtual;
  private Flags.Value<String> codec;

  public static void main(String[] words) {
    Program.main(OpenFeignPeer::new, words);
  }

  @Override
  public String name() {
    return "java-openfeign";
  }

  @Override
  public List<String> methods() {
    return List.of("Say", "Echo");
  }

  @Override
  public void serveFlags(Flags flags) {
    defaults = flags.toggle("--default", "end a connection after 100 requests, as Tomcat does");
    virtual = VirtualThreads.flag(flags);
  }

  @Override
  public void benchFlags(Flags flags) {
    defaults =
        flags.toggle("--default", "the JDK's old HTTP client, which OpenFeign has unless told");
    codec = flags.choice("--codec", List.of(JSON, PROTOBUF), "of the messages of Say");
  }

  @Override
  public int serve(Address listen, Work work) throws UsageError {
    Map<String, Object> settings = new HashMap<>();
    settings.put("server.address", listen.host());
    settings.put("server.port", listen.port());
    settings.put("server.tomcat.max-http-form-post-size", Program.MAX_MESSAGE);
    settings.put("logging.level.root", "OFF"); // failures are told in one line
    if (!defaults.get()) {
      settings.put("server.tomcat.max-keep-alive-requests", -1);
    }
    if (virtual.get()) {
      VirtualThreads.check();
      settings.put("spring.threads.virtual.enabled", true);
    }
    SpringApplication application = new SpringApplication(BenchController.class);
    application.setBannerMode(Banner.Mode.OFF);
    application.setRegisterShutdownHook(false);
    application.setDefaultProperties(settings);
    application.addInitializers(
        context -> context.getBeanFactory().registerSingleton("work", work));
    ConfigurableApplicationContext context = application.run();
    return context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
  }

  @Override
  public Calls bench(Options options) throws UsageError {
    String url = "http://" + options.target();
    List<AutoCloseable> closing = new ArrayList<>();
    Client client;
    if (defaults.get()) {
      if (options.connectionsGiven()) {
        throw new UsageError(
            "--connections does not go with --default: that client opens what it wants");
      }
      client = new Client.Default(null, null);
    } else {
      CloseableHttpClient http = pooled(options.connections());
      closing.add(http);
      client = new ApacheHttp5Client(http);
    }
    Feign.Builder builder = Feign.builder().client(client).retryer(Retryer.NEVER_RETRY);
    List<CallOf> dealt = options.spread(List.of(callOf(builder, url, options)));
    return Calls.blocking(dealt.stream().map(CallOf::next).toList(), closing);
  }

  /** Makes the call function of one caller. */
  private interface CallOf {
    io.trunkcall.load.Call next();
  }

  private CallOf callOf(Feign.Builder builder, String url, Options options) {
    if (options.method().equals("Echo")) {
      EchoClient client =
          builder
              .encoder(new Encoder.Default())
              .decoder(new Decoder.Default())
              .target(EchoClient.class, url);
      return () -> FeignCalls.echo(client, options.size());
    }
    if (codec.get().equals(PROTOBUF)) {
      ProtobufClient client =
          builder
              .encoder(ProtobufCodec::encode)
              .decoder(ProtobufCodec::decode)
              .target(ProtobufClient.class, url);
      return () -> FeignCalls.say(client);
    }
    JsonClient client =
        builder
            .encoder(new JacksonEncoder())
            .decoder(new JacksonDecoder())
            .target(JsonClient.class, url);
    return () -> FeignCalls.say(client);
  }

  /** Callers beyond so many connections wait for one of them. */
  private static CloseableHttpClient pooled(int connections) {
    return HttpClients.custom()
        .setConnectionManager(
            PoolingHttpClientConnectionManagerBuilder.create()
                .setMaxConnTotal(connections)
                .setMaxConnPerRoute(connections)
                .build())
        .disableCookieManagement()
        .disableAuthCaching()
        .disableAutomaticRetries()
        .disableRedirectHandling()
        .build();
  }
}
