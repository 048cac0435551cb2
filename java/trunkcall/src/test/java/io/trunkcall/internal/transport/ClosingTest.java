package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.trunkcall.internal.wire.ErrorClass;
import io.trunkcall.internal.wire.Events;
import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.Session;
import io.trunkcall.internal.wire.SessionConfig;
import java.io.ByteArrayOutputStream;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How a connection ends whose channel has no room at times. Time passes when the test says so. */
class ClosingTest {
  private final EmbeddedChannel channel = new EmbeddedChannel(new Filling());
  private boolean full; // with the next write
  private Carrier near;
  private Session far;

  private final class Filling extends ChannelOutboundHandlerAdapter {
    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
      if (full) {
        room(false);
      }
      context.write(message, promise);
    }
  }

  private static final class Silent implements Events {
    @Override
    public void failed(ErrorClass kind, String text) {
      throw new AssertionError(text);
    }
  }

  @BeforeEach
  void greet() {
    channel.freezeTime();
    SessionConfig config = SessionConfig.builder().keepalive(0, 0).build();
    long now = Clock.micros();
    near = Carrier.attach(channel, new TestEnd(), false, config, TestEnd.METHODS, now);
    far = new Session(new Silent(), true, now, config, MethodTable.EMPTY);
    exchange();
    assertTrue(near.session().opened());
  }

  @AfterEach
  void end() {
    near.abort("the test is over");
    channel.finishAndReleaseAll();
  }

  private void exchange() {
    for (int round = 0; round < 5; round++) {
      toNear();
      toFar();
    }
  }

  private void toNear() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    long size = far.take((array, offset, length, lasting) -> out.write(array, offset, length));
    far.wrote(size);
    if (size > 0) {
      channel.writeInbound(Unpooled.wrappedBuffer(out.toByteArray()));
    }
  }

  private void toFar() {
    channel.runPendingTasks();
    for (Object one = channel.readOutbound(); one != null; one = channel.readOutbound()) {
      if (one instanceof ByteBuf buffer) {
        byte[] bytes = new byte[buffer.readableBytes()];
        buffer.readBytes(bytes);
        buffer.release();
        far.receive(bytes, 0, bytes.length, Clock.micros());
        far.dispatch(Clock.micros());
      }
    }
  }

  private void room(boolean is) {
    channel.unsafe().outboundBuffer().setUserDefinedWritability(1, is);
  }

  /** Drains the near side, whose last bytes find no room. */
  private void drainWithoutRoom() {
    near.drain();
    toFar();
    full = true;
    toNear(); // the acknowledgement; what is said to it is the last
    assertTrue(near.session().halfClose());
  }

  private void pass(int seconds) {
    channel.advanceTimeBy(seconds, TimeUnit.SECONDS);
    channel.runPendingTasks();
  }

  @Test
  void lastBytesThatFindNoRoomAreGivenUp() {
    drainWithoutRoom();
    pass(9);
    assertTrue(channel.isOpen());
    pass(2);
    assertFalse(channel.isOpen());
  }

  @Test
  void lastBytesThatFindRoomInTimeAreNotCutOff() {
    drainWithoutRoom();
    pass(9);
    full = false;
    room(true);
    pass(20);
    assertTrue(channel.isOpen(), "the other side may take its time");
    toFar();
    toNear();
    assertTrue(far.closed(), "the last bytes have come");
  }
}
