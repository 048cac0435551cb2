package io.trunkcall.internal.transport;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoRegistration;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.concurrent.ThreadAwareExecutor;

/**
 * What waits for sockets, and has channels in memory besides: these need no waiting, and so a loop
 * can have both.
 */
final class MemoryIo implements IoHandler {
  private final IoHandler sockets;
  private final IoHandler memory;
  private final ThreadAwareExecutor loop;

  private MemoryIo(IoHandler sockets, IoHandler memory, ThreadAwareExecutor loop) {
    this.sockets = sockets;
    this.memory = memory;
    this.loop = loop;
  }

  static IoHandlerFactory with(IoHandlerFactory sockets) {
    IoHandlerFactory memory = LocalIoHandler.newFactory();
    return (ThreadAwareExecutor executor) ->
        new MemoryIo(sockets.newHandler(executor), memory.newHandler(executor), executor);
  }

  @Override
  public void initialize() {
    sockets.initialize();
  }

  @Override
  public int run(IoHandlerContext context) {
    return sockets.run(context);
  }

  @Override
  public void prepareToDestroy() {
    memory.prepareToDestroy();
    sockets.prepareToDestroy();
  }

  @Override
  public void destroy() {
    sockets.destroy();
  }

  @Override
  public IoRegistration register(IoHandle handle) throws Exception {
    return memory.isCompatible(handle.getClass())
        ? memory.register(handle)
        : sockets.register(handle);
  }

  @Override
  public void wakeup() {
    sockets.wakeup();
    if (loop instanceof TurnLoop turned) {
      turned.woken();
    }
  }

  @Override
  public boolean isCompatible(Class<? extends IoHandle> type) {
    return memory.isCompatible(type) || sockets.isCompatible(type);
  }
}
