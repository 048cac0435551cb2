package io.trunkcall.peer.publicsuite;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The suite's messages, made from a FileDescriptorSet: the generated ones are its own. */
public final class Schema {
  static final String PACKAGE = "connectrpc.conformance.v1";

  /** Bounds a message of the suite's own. */
  private static final int MOST_BYTES = 64 << 20;

  private final Map<String, Descriptor> types = new HashMap<>(); // by their names in the package

  /**
   * Reads a file.
   *
   * @throws IllegalArgumentException if it has not the messages of the suite
   */
  public Schema(Path path) throws IOException {
    try {
      FileDescriptorSet set = FileDescriptorSet.parseFrom(Files.readAllBytes(path));
      Map<String, FileDescriptor> files = new HashMap<>();
      for (FileDescriptorProto one : set.getFileList()) {
        FileDescriptor file = file(one, files);
        files.put(one.getName(), file);
        if (file.getPackage().equals(PACKAGE)) {
          file.getMessageTypes().forEach(this::add);
        }
      }
      type("ServerCompatRequest");
    } catch (InvalidProtocolBufferException
        | DescriptorValidationException
        | IllegalArgumentException e) {
      throw new IllegalArgumentException(
          path + " has not the messages of the suite: " + e.getMessage(), e);
    }
  }

  /** What it imports stands before it. */
  private static FileDescriptor file(FileDescriptorProto file, Map<String, FileDescriptor> before)
      throws DescriptorValidationException {
    List<FileDescriptor> imported = new ArrayList<>();
    for (String name : file.getDependencyList()) {
      FileDescriptor one = before.get(name);
      if (one == null) {
        throw new IllegalArgumentException(file.getName() + " imports " + name + ", not there");
      }
      imported.add(one);
    }
    return FileDescriptor.buildFrom(file, imported.toArray(FileDescriptor[]::new));
  }

  private void add(Descriptor type) {
    types.put(type.getFullName().substring(PACKAGE.length() + 1), type);
    type.getNestedTypes().forEach(this::add);
  }

  /** A type of messages, by its name in the suite's package. */
  Descriptor type(String name) {
    Descriptor found = types.get(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no message " + name);
    }
    return found;
  }

  /** What a message of any type holds. */
  DynamicMessage unpacked(Parts packed) throws InvalidProtocolBufferException {
    String url = packed.text("type_url");
    String name = url.substring(url.lastIndexOf('/') + 1);
    if (!name.startsWith(PACKAGE + ".")) {
      throw new InvalidProtocolBufferException("the type " + url + " is not of the suite");
    }
    return DynamicMessage.parseFrom(
        type(name.substring(PACKAGE.length() + 1)), packed.bytes("value"));
  }

  /** An empty message. */
  DynamicMessage empty(String name) {
    return DynamicMessage.getDefaultInstance(type(name));
  }

  /** Makes a message. */
  Made make(String name) {
    return new Made(DynamicMessage.newBuilder(type(name)));
  }

  /** Reads a message behind its length; null at the end. */
  @Nullable Parts read(InputStream in, String name) throws IOException {
    byte[] head = in.readNBytes(Integer.BYTES);
    if (head.length == 0) {
      return null;
    }
    if (head.length < Integer.BYTES) {
      throw cutOff(name);
    }
    int length = ByteBuffer.wrap(head).getInt();
    if (length < 0 || length > MOST_BYTES) {
      throw new IOException(
          "a "
              + name
              + " of "
              + Integer.toUnsignedString(length)
              + " bytes, more than "
              + MOST_BYTES);
    }
    byte[] encoded = in.readNBytes(length);
    if (encoded.length < length) {
      throw cutOff(name);
    }
    return new Parts(DynamicMessage.parseFrom(type(name), encoded));
  }

  private static EOFException cutOff(String name) {
    return new EOFException("the input ends within a " + name);
  }

  /** Writes a message behind its length. */
  static void write(OutputStream out, Message message) throws IOException {
    byte[] encoded = message.toByteArray();
    out.write(
        ByteBuffer.allocate(Integer.BYTES + encoded.length)
            .putInt(encoded.length)
            .put(encoded)
            .array());
    out.flush();
  }
}
