package io.trunkcall.examples.features;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.CallOptions;
import io.trunkcall.Caller;
import io.trunkcall.ClientStream;
import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Method;
import io.trunkcall.Response;
import io.trunkcall.StatusException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A unit test without a server: what calls is given a caller that answers by itself. */
class MockedTest {
  /** What is tested. It takes any caller: a client, or one of a test. */
  static String greeting(Caller users, long id) {
    try {
      return "hello " + users.call(Users.GET, Users.request(id)).getName();
    } catch (StatusException e) {
      return "hello, whoever you are";
    }
  }

  /** Answers all calls of one message in the same way. */
  private record Mock(CompletableFuture<?> answer) implements Caller {
    @Override
    @SuppressWarnings("unchecked")
    public <Q, R> CompletableFuture<Response<R>> unary(
        Method<Q, R> method, Q request, CallOptions options) {
      return answer.thenApply(
          message ->
              new Response<>((R) message, Metadata.EMPTY, Metadata.EMPTY, "mock", Duration.ZERO));
    }

    @Override
    public <Q, R> ClientStream<Q, R> stream(Method<Q, R> method, Q request, CallOptions options) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void aUserIsGreetedByName() {
    Caller users = new Mock(CompletableFuture.completedFuture(Users.user("Ada")));
    assertEquals("hello Ada", greeting(users, 7));
  }

  @Test
  void aUserWhomNobodyKnowsIsGreetedToo() {
    StatusException unknown = new StatusException(Code.NOT_FOUND, "there is no user 7");
    Caller users = new Mock(CompletableFuture.failedFuture(unknown));
    assertEquals("hello, whoever you are", greeting(users, 7));
  }
}
