package io.trunkcall.interop;

import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.internal.GrpcUtil;
import io.grpc.testing.TestUtils;
import io.grpc.testing.integration.AbstractInteropTest;
import io.grpc.testing.integration.TestServiceImpl;
import io.trunkcall.Server;
import io.trunkcall.ServerBuilder;
import io.trunkcall.grpc.GrpcServices;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/**
 * grpc-java's cases between its test service on a Trunkcall server and its stubs, over a Trunkcall
 * client or over its own channel. To the cases the server is one of another process: what they ask
 * of one in their own are the tracers of grpc-java's server, which does not run here. So they leave
 * two out, of which one is here again; the other is Census's alone.
 */
public abstract class Cases extends AbstractInteropTest {
  private final AtomicReference<Metadata> requestHeaders = new AtomicReference<>();
  private ScheduledExecutorService executor;
  private Server server;

  /** What the server is given besides the service. */
  protected void serve(ServerBuilder builder) throws Exception {}

  /** What makes channels to the server's port. */
  protected abstract ManagedChannelBuilder<?> channelTo(int port) throws Exception;

  @Before
  @Override
  public void setUp() {
    executor = Executors.newScheduledThreadPool(2);
    ServerServiceDefinition service =
        ServerInterceptors.intercept(
            ServerInterceptors.intercept(
                new TestServiceImpl(executor), TestServiceImpl.interceptors()),
            TestUtils.recordRequestHeadersInterceptor(requestHeaders));
    try {
      ServerBuilder builder =
          Server.builder().listen("127.0.0.1:0").serve(GrpcServices.handlers(service));
      serve(builder);
      server = builder.build().start();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    super.setUp();
  }

  @After
  @Override
  public void tearDown() {
    super.tearDown();
    server.close();
    executor.shutdown();
  }

  @Override
  protected ManagedChannelBuilder<?> createChannelBuilder() {
    try {
      return channelTo(server.port());
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  protected boolean metricsExpected() {
    return false;
  }

  /** With 60 minutes: natively 100 are longer than can be told (protocol.md 10). */
  @Test
  @Override
  public void sendsTimeoutHeader() {
    blockingStub.withDeadlineAfter(60, TimeUnit.MINUTES).emptyCall(EMPTY);
    Long left = requestHeaders.get().get(GrpcUtil.TIMEOUT_KEY);
    assertNotNull(left);
    long minutes = TimeUnit.NANOSECONDS.toMinutes(left);
    assertTrue("" + minutes, minutes >= 59 && minutes <= 60);
  }
}
