package io.trunkcall.examples.stubs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.Server;
import io.trunkcall.grpc.GrpcServices;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import org.junit.jupiter.api.Test;

class StubsTest {
  private interface Program {
    void main(String[] args) throws Exception;
  }

  private static List<String> printed(Program program, String... args) throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true));
    try {
      program.main(args);
    } finally {
      System.setOut(before);
    }
    return printed.toString().lines().toList();
  }

  @Test
  void itPrintsWhatTheDocumentsSay() throws Exception {
    assertEquals(
        List.of(
            "found user-7",
            "listed user-1",
            "listed user-2",
            "listed user-3",
            "failed with INVALID_ARGUMENT"),
        printed(Stubs::main));
  }

  @Test
  void aClientOfGrpcCallsTheSamePort() throws Exception {
    try (Server server =
        Server.builder()
            .serve(GrpcServices.handlers(new Users()))
            .listen("127.0.0.1:0")
            .build()
            .start()) {
      assertEquals(
          List.of("found user-7", "failed with INVALID_ARGUMENT"),
          printed(GrpcClient::main, "127.0.0.1:" + server.port()));
    }
  }
}
