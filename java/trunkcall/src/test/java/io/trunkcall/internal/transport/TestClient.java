package io.trunkcall.internal.transport;

import io.trunkcall.internal.wire.SessionConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Dials and calls. */
final class TestClient implements AutoCloseable {
  TlsSource tls;
  String serverName = "";
  OpenChannel open;
  boolean greeting = true;
  boolean alone = true;
  Loops loops = Loops.NATIVE;
  private final List<Carrier> opened = new ArrayList<>();

  CompletableFuture<Carrier> dial(String... addresses) {
    List<Address> parsed = new ArrayList<>();
    for (String one : addresses) {
      parsed.add(Address.parse(one));
    }
    Dialing dialing =
        new Dialing(
            loops.group.next(),
            parsed,
            TestEnd::new,
            SessionConfig.builder().build(),
            TestEnd.METHODS,
            tls,
            serverName,
            open,
            greeting ? made -> end(made).greeted : null,
            alone);
    return Dial.dial(dialing);
  }

  TestEnd connect(String... addresses) throws Exception {
    Carrier made = Wait.result(dial(addresses));
    opened.add(made);
    return end(made);
  }

  static TestEnd end(Carrier carrier) {
    return (TestEnd) carrier.events();
  }

  @Override
  public void close() {
    for (Carrier one : opened) {
      one.submit(() -> one.abort("the test is over"));
    }
  }
}
