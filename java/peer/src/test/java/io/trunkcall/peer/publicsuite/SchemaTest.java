package io.trunkcall.peer.publicsuite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SchemaTest {
  private static final String NAME = "ServerCompatRequest";

  @TempDir private Path folder;

  private Path file(FileDescriptorProto... files) throws IOException {
    FileDescriptorSet set = FileDescriptorSet.newBuilder().addAllFile(Arrays.asList(files)).build();
    return Files.write(Files.createTempFile(folder, "schema", ""), set.toByteArray());
  }

  private static FileDescriptorProto suite() {
    FieldDescriptorProto field =
        FieldDescriptorProto.newBuilder()
            .setName("use_tls")
            .setNumber(4)
            .setType(FieldDescriptorProto.Type.TYPE_BOOL)
            .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL)
            .build();
    return FileDescriptorProto.newBuilder()
        .setName("suite.proto")
        .setPackage(Schema.PACKAGE)
        .addMessageType(DescriptorProto.newBuilder().setName(NAME).addField(field))
        .build();
  }

  private static ByteArrayInputStream bytes(int... all) {
    byte[] made = new byte[all.length];
    for (int at = 0; at < all.length; at++) {
      made[at] = (byte) all[at];
    }
    return new ByteArrayInputStream(made);
  }

  @Test
  void aFileWithoutTheMessagesOfTheSuiteIsTurnedDown() throws Exception {
    Path noSet = Files.writeString(folder.resolve("text"), "no set of files");
    for (Path path :
        new Path[] {
          noSet, file(), file(suite().toBuilder().addDependency("other.proto").build()),
        }) {
      String told =
          assertThrows(IllegalArgumentException.class, () -> new Schema(path)).getMessage();
      assertTrue(told.startsWith(path + " has not the messages of the suite: "), told);
    }
  }

  @Test
  void messagesStandBehindTheirLengths() throws Exception {
    Schema schema = new Schema(file(suite()));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Schema.write(out, schema.make(NAME).set("use_tls", true).message());
    ByteArrayInputStream in = new ByteArrayInputStream(out.toByteArray());
    Parts read = schema.read(in, NAME);
    assertNotNull(read);
    assertTrue(read.isTrue("use_tls"));
    assertNull(schema.read(in, NAME));
  }

  @Test
  void aLengthThatIsOnlySaidIsNotBelieved() throws Exception {
    Schema schema = new Schema(file(suite()));
    IOException tooLong =
        assertThrows(IOException.class, () -> schema.read(bytes(255, 255, 255, 255), NAME));
    assertEquals(
        "a ServerCompatRequest of 4294967295 bytes, more than 67108864", tooLong.getMessage());
    for (ByteArrayInputStream cut :
        new ByteArrayInputStream[] {bytes(0, 0), bytes(0, 0, 0, 2, 32), bytes(3, 0, 0, 0, 32)}) {
      IOException early = assertThrows(IOException.class, () -> schema.read(cut, NAME));
      assertEquals("the input ends within a ServerCompatRequest", early.getMessage());
    }
  }
}
