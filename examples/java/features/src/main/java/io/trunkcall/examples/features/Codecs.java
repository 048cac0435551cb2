package io.trunkcall.examples.features;

import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.Compression;
import io.trunkcall.Handler;
import io.trunkcall.Method;
import io.trunkcall.Output;
import io.trunkcall.Server;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Messages that are not Protobuf, messages that are compressed, and a codec chosen per call. */
public final class Codecs {
  /** A codec of one's own: a row of values without commas is a list of texts. */
  private static final class Rows implements Codec<List<String>> {
    @Override
    public int number() {
      return 8; // 8 to 15; it is the same at the other side
    }

    @Override
    public String name() {
      return "csv"; // by which the other side knows it
    }

    @Override
    public void encode(List<String> row, Output out) {
      byte[] text = String.join(",", row).getBytes(StandardCharsets.UTF_8);
      out.write(text, 0, text.length);
    }

    @Override
    public List<String> decode(byte[] array, int offset, int length) {
      return List.of(new String(array, offset, length, StandardCharsets.UTF_8).split(",", -1));
    }
  }

  private static final Codec<List<String>> ROWS = new Rows();

  private static final Method<byte[], byte[]> UPLOAD =
      Method.unary("/example.Files/Upload", Codec.raw(), Codec.raw());
  private static final Method<List<String>, List<String>> COUNT =
      Method.unary("/example.Rows/Count", ROWS, ROWS);

  private Codecs() {}

  public static void main(String[] args) throws IOException {
    Server server =
        Server.builder()
            .codec(ROWS)
            .serve(Handler.unary(UPLOAD, (file, call) -> (file.length + " bytes").getBytes()))
            .serve(Handler.unary(COUNT, (row, call) -> List.of(row.size() + "", "columns")))
            .serve(Handler.unary(Users.GET, (request, call) -> Users.user("by " + call.codec())))
            .build();
    try (server;
        Client client =
            Client.builder(server.listen("127.0.0.1:0"))
                .codec(ROWS)
                .compression(Compression.gzip())
                .build()) {
      byte[] file = "the same again ".repeat(100_000).getBytes(); // raw, and compressed
      System.out.println(new String(client.call(UPLOAD, file)));
      System.out.println(client.call(COUNT, List.of("a", "b", "c")));

      // Protobuf's messages also have a form in JSON, with protobuf-java-util on the class path.
      CallOptions json = CallOptions.NONE.withCodec(Codec.JSON);
      GetUserResponse user = client.call(Users.GET, Users.request(7), json);
      System.out.println(user.getName());
    }
  }
}
