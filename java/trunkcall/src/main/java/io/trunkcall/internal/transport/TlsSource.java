package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.IdentityCipherSuiteFilter;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * The TLS of a client or a server (protocol.md 13, client.md 9.6): version 1.2 or later, ALPN
 * {@code trunk}. For any thread.
 */
public final class TlsSource {
  /** The native protocol in ALPN. */
  public static final String ALPN = "trunk";

  /** HTTP/1.1 in ALPN, for WebSockets. */
  public static final String ALPN_HTTP1 = "http/1.1";

  private static final long LOOK = 1_000_000; // µs between two looks at files, at least
  private static final System.Logger LOG = System.getLogger("io.trunkcall");
  private static final String[] VERSIONS = {"TLSv1.3", "TLSv1.2"};

  private final boolean client;
  private final @Nullable TlsFiles files;
  private final @Nullable SSLContext given;
  private final ClientAuth clients;
  private final List<String> protocols;
  private final ReentrantLock reading = new ReentrantLock(); // guards what follows
  private List<Object> seen = List.of();
  private String trouble = "";
  private volatile SslContext context;
  private volatile long lookAgain;

  private TlsSource(
      boolean client,
      @Nullable TlsFiles files,
      @Nullable SSLContext given,
      ClientAuth clients,
      List<String> protocols)
      throws IOException, GeneralSecurityException {
    this.client = client;
    this.files = files;
    this.given = given;
    this.clients = clients;
    this.protocols = List.copyOf(protocols);
    if (files != null) {
      seen = files.seen();
    }
    this.context = made();
    this.lookAgain = Clock.micros() + LOOK;
  }

  /** A client's, of files. Fails at once if they cannot be used. */
  public static TlsSource forClients(TlsFiles files) throws IOException, GeneralSecurityException {
    return new TlsSource(true, files, null, ClientAuth.NONE, List.of(ALPN));
  }

  /** What a client trusts that was given nothing: the authorities of the JDK. */
  static TlsSource usual() throws IOException {
    return made(true, null, null, ClientAuth.NONE, List.of(ALPN));
  }

  /** A client's, of a context; its ALPN and versions are set here. */
  public static TlsSource forClients(SSLContext context)
      throws IOException, GeneralSecurityException {
    return new TlsSource(true, null, context, ClientAuth.NONE, List.of(ALPN));
  }

  /** A server's, of files. Fails at once if they cannot be used. */
  public static TlsSource forServers(TlsFiles files) throws IOException, GeneralSecurityException {
    if (files.cert() == null) {
      throw new IllegalArgumentException("TLS files of a server: there is no certificate");
    }
    ClientAuth clients = files.ca() == null ? ClientAuth.NONE : ClientAuth.REQUIRE;
    return new TlsSource(false, files, null, clients, List.of(ALPN));
  }

  /** A server's, of a context. If {@code asks}, every client must show a certificate. */
  public static TlsSource forServers(SSLContext context, boolean asks)
      throws IOException, GeneralSecurityException {
    ClientAuth clients = asks ? ClientAuth.REQUIRE : ClientAuth.NONE;
    return new TlsSource(false, null, context, clients, List.of(ALPN));
  }

  /** The same, with further protocols in ALPN behind ours. */
  TlsSource offering(List<String> more) throws IOException {
    List<String> all = new ArrayList<>(protocols);
    more.stream().filter(one -> !all.contains(one)).forEach(all::add);
    return with(all);
  }

  /** The same, as the WebSocket of a client uses it. */
  TlsSource forWebSocket() throws IOException {
    return with(List.of(ALPN_HTTP1));
  }

  private TlsSource with(List<String> all) throws IOException {
    return made(client, files, given, clients, all);
  }

  private static TlsSource made(
      boolean client,
      @Nullable TlsFiles files,
      @Nullable SSLContext given,
      ClientAuth clients,
      List<String> all)
      throws IOException {
    try {
      return new TlsSource(client, files, given, clients, all);
    } catch (GeneralSecurityException fault) {
      throw new IOException(fault.getMessage(), fault);
    }
  }

  /**
   * Does something with the handler of the next connection, at once, or on another thread when it
   * is time to look whether files have changed.
   */
  void handler(ByteBufAllocator buffers, String peer, int port, Consumer<SslHandler> then) {
    if (files == null || Clock.micros() < lookAgain) {
      then.accept(made(context, buffers, peer, port));
      return;
    }
    CompletableFuture<Void> looked =
        Background.run(
            Background.TLS,
            () -> {
              look();
              then.accept(made(context, buffers, peer, port));
              return null;
            });
    looked.exceptionally(
        fault -> {
          LOG.log(System.Logger.Level.ERROR, "TLS: a handshake could not begin", fault);
          return null;
        });
  }

  private SslHandler made(SslContext context, ByteBufAllocator buffers, String peer, int port) {
    if (!client) {
      return context.newHandler(buffers, Background.TLS);
    }
    SslHandler made = context.newHandler(buffers, peer, port, Background.TLS);
    SSLEngine engine = made.engine();
    SSLParameters parameters = engine.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the certificate must show the name
    engine.setSSLParameters(parameters);
    return made;
  }

  /** Reads files that have changed. While what is there cannot be used, the last ones stay. */
  private void look() {
    TlsFiles files = this.files;
    if (files == null) {
      return;
    }
    reading.lock();
    try {
      if (Clock.micros() < lookAgain) {
        return;
      }
      List<Object> now = files.seen();
      if (!now.equals(seen)) {
        context = made();
        seen = now;
        trouble = "";
        LOG.log(System.Logger.Level.INFO, "TLS: the files have changed and were read again");
      }
    } catch (IOException | GeneralSecurityException | RuntimeException fault) {
      String text = String.valueOf(fault);
      if (!text.equals(trouble)) {
        trouble = text;
        String told = "TLS: files that have changed cannot be used, the last ones stay: ";
        LOG.log(System.Logger.Level.WARNING, told + text);
      }
    } finally {
      lookAgain = Clock.micros() + LOOK;
      reading.unlock();
    }
  }

  private SslContext made() throws IOException, GeneralSecurityException {
    ApplicationProtocolConfig alpn =
        new ApplicationProtocolConfig(
            Protocol.ALPN,
            SelectorFailureBehavior.NO_ADVERTISE,
            SelectedListenerFailureBehavior.ACCEPT,
            protocols);
    if (given != null) {
      return new JdkSslContext(
          given, client, null, IdentityCipherSuiteFilter.INSTANCE, alpn, clients, VERSIONS, false);
    }
    SslContextBuilder builder = builder();
    builder.sslProvider(SslProvider.JDK).protocols(VERSIONS).applicationProtocolConfig(alpn);
    return builder.clientAuth(clients).build();
  }

  private SslContextBuilder builder() throws IOException {
    TlsFiles files = this.files;
    if (files == null) {
      return SslContextBuilder.forClient();
    }
    Path cert = files.cert();
    Path key = files.key() == null ? cert : files.key();
    SslContextBuilder builder = client ? SslContextBuilder.forClient() : null;
    if (cert != null && key != null) {
      try (InputStream chain = Files.newInputStream(cert);
          InputStream secret = PrivateKeys.read(key)) {
        if (builder == null) {
          builder = SslContextBuilder.forServer(chain, secret);
        } else {
          builder.keyManager(chain, secret);
        }
      } catch (IllegalArgumentException fault) {
        String text = "certificate: " + cert + ", key: " + key + ": ";
        throw new IOException(text + reason(fault), fault);
      }
    }
    if (builder == null) {
      throw new IOException("a server needs a certificate and its key");
    }
    Path authorities = files.ca();
    if (authorities != null) {
      try {
        builder.trustManager(authorities.toFile());
      } catch (IllegalArgumentException fault) {
        String text = "certificates of authorities: " + authorities + ": ";
        throw new IOException(text + reason(fault), fault);
      }
    }
    return builder;
  }

  private static String reason(Throwable fault) {
    Throwable cause = fault.getCause() == null ? fault : fault.getCause();
    return String.valueOf(cause.getMessage());
  }
}
