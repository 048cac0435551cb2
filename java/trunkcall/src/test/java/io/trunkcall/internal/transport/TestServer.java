package io.trunkcall.internal.transport;

import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.SessionConfig;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A listener whose connections echo. */
final class TestServer implements Acceptor, AutoCloseable {
  final BlockingQueue<TestEnd> ends = new LinkedBlockingQueue<>();
  final BlockingQueue<String> rejections = new LinkedBlockingQueue<>();
  final Listener listener;

  TestServer(Loops loops, String where, ListenOptions options) throws IOException {
    listener = Listener.listen(loops, where, options, this);
  }

  TestServer(String where, ListenOptions options) throws IOException {
    this(Loops.NATIVE, where, options);
  }

  /** The next connection. */
  TestEnd end() throws InterruptedException {
    return ends.poll(Wait.PATIENCE, TimeUnit.SECONDS);
  }

  /** The next text of what was turned away. */
  String rejection() throws InterruptedException {
    return rejections.poll(Wait.PATIENCE, TimeUnit.SECONDS);
  }

  @Override
  public ConnectionEvents accept() {
    TestEnd made = new TestEnd();
    made.connected.thenRun(() -> ends.add(made));
    return made;
  }

  @Override
  public SessionConfig config() {
    return SessionConfig.builder().build();
  }

  @Override
  public MethodTable methods() {
    return TestEnd.METHODS;
  }

  @Override
  public void rejected(String remote, String why) {
    rejections.add(why);
  }

  @Override
  public void paused(String why) {}

  @Override
  public void close() {
    listener.close();
  }
}
