package io.trunkcall.peer.publicsuite;

import com.google.protobuf.ByteString;
import io.trunkcall.Limits;
import io.trunkcall.Server;
import io.trunkcall.ServerBuilder;
import io.trunkcall.Tls;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;

/** A server as it is asked for on one stream, which says on another where it is. */
public final class SuiteServer {
  private final Schema schema;
  private final InputStream in;
  private final OutputStream out;

  /** Speaks over these streams. */
  public SuiteServer(Schema schema, InputStream in, OutputStream out) {
    this.schema = schema;
    this.in = in;
    this.out = out;
  }

  /** Waits for the request, and carries it out. */
  public Server open() throws IOException {
    Parts wanted = schema.read(in, "ServerCompatRequest");
    if (wanted == null) {
      throw new EOFException("there is no ServerCompatRequest");
    }
    ServerBuilder builder = Server.builder();
    int most = wanted.number("message_receive_limit");
    if (most != 0) {
      builder.limits(Limits.DEFAULTS.withMessageBytes(Integer.toUnsignedLong(most)));
    }
    new SuiteService(schema).handlers().forEach(builder::serve);
    if (wanted.isTrue("use_tls")) {
      builder.tls(tls(wanted));
    }
    Server server = builder.build();
    String address = server.listen("127.0.0.1:0");
    int colon = address.lastIndexOf(':');
    Made told =
        schema
            .make("ServerCompatResponse")
            .set("host", address.substring(0, colon))
            .set("port", Integer.parseInt(address.substring(colon + 1)));
    if (wanted.isTrue("use_tls")) {
      told.set("pem_cert", wanted.part("server_creds").bytes("cert"));
    }
    Schema.write(out, told.message());
    return server;
  }

  private static Tls tls(Parts wanted) throws IOException {
    PemFiles files = new PemFiles();
    Parts own = wanted.part("server_creds");
    Path certificate = files.write("cert.pem", own.bytes("cert"));
    Path key = files.write("key.pem", own.bytes("key"));
    ByteString clients = wanted.bytes("client_tls_cert");
    return clients.isEmpty()
        ? Tls.of(certificate, key)
        : Tls.mutual(files.write("clients.pem", clients), certificate, key);
  }
}
