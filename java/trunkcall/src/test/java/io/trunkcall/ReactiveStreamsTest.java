package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Timeout;
import org.reactivestreams.tck.TestEnvironment;
import org.reactivestreams.tck.flow.FlowPublisherVerification;
import org.testng.ITestResult;
import org.testng.TestListenerAdapter;
import org.testng.TestNG;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;
import org.testng.annotations.Test;

/** The tests that Reactive Streams has for publishers, with the responses of a call. */
class ReactiveStreamsTest {
  @org.junit.jupiter.api.Test
  @Timeout(300)
  void responsesAreAPublisherAsReactiveStreamsWantsThem() {
    TestListenerAdapter told = new TestListenerAdapter();
    TestNG tests = new TestNG(false);
    tests.setTestClasses(new Class<?>[] {Responses.class});
    tests.addListener(told);
    tests.setVerbose(0);
    tests.run();
    List<String> failed = told.getFailedTests().stream().map(ReactiveStreamsTest::spelled).toList();
    assertEquals(List.of(), failed);
    assertEquals(List.of(), told.getConfigurationFailures());
    assertTrue(told.getPassedTests().size() >= 25, () -> told.getPassedTests().size() + " passed");
  }

  private static String spelled(ITestResult result) {
    return result.getName() + ": " + result.getThrowable();
  }

  /** The responses of calls to a server on loopback. */
  public static final class Responses extends FlowPublisherVerification<String> {
    private static final long SOON = 3_000; // ms within which a signal comes
    private static final long NOT = 100; // ms in which none comes that must not

    private Pair pair;
    private volatile WeakReference<?> dropped = new WeakReference<>(null);

    /** With patience for a busy machine. */
    public Responses() {
      super(new TestEnvironment(SOON, NOT));
    }

    /** As theirs, which gives the collector 100 ms. */
    @Override
    @Test
    public void
        required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber() {
      subscribeAndCancel();
      Pair.until(
          () -> {
            System.gc();
            return dropped.get() == null;
          },
          "the publisher keeps a subscriber that has cancelled");
    }

    /** A function of its own, so that no frame of the test keeps the subscriber. */
    private void subscribeAndCancel() {
      CompletableFuture<Flow.Subscription> given = new CompletableFuture<>();
      CompletableFuture<String> first = new CompletableFuture<>();
      Flow.Subscriber<String> subscriber =
          new Flow.Subscriber<>() {
            @Override
            public void onSubscribe(Flow.Subscription subscription) {
              given.complete(subscription);
            }

            @Override
            public void onNext(String message) {
              first.complete(message);
            }

            @Override
            public void onError(Throwable error) {
              first.completeExceptionally(error);
            }

            @Override
            public void onComplete() {}
          };
      createFlowPublisher(3).subscribe(subscriber);
      Pair.await(given).request(1);
      assertEquals("0", Pair.await(first));
      Pair.await(given).cancel();
      dropped = new WeakReference<>(subscriber);
    }

    /** Begins to serve. */
    @BeforeClass
    public void serve() {
      Handler count =
          Handler.serverStream(
              Texts.COUNT,
              (request, responses, call) -> {
                long most = Long.parseLong(request);
                for (long i = 0; i < most && responses.send("" + i); i++) {
                  // Until the call is over.
                }
              });
      try {
        pair = new Pair(count);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Ends. */
    @AfterClass
    public void end() {
      pair.close();
    }

    @Override
    public Flow.Publisher<String> createFlowPublisher(long elements) {
      return pair.client.publish(Texts.COUNT, "" + elements, CallOptions.NONE);
    }

    @Override
    public Flow.Publisher<String> createFailedFlowPublisher() {
      return null; // a call that fails is told behind onSubscribe, once something is asked for
    }

    @Override
    public long maxElementsFromPublisher() {
      return 1_000_000;
    }
  }
}
