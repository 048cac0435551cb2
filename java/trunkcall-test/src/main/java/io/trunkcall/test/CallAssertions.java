package io.trunkcall.test;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AssertionFailureBuilder;
import org.junit.jupiter.api.function.Executable;

/**
 * Checks of how calls fail: with which code, and what is known of their handlers.
 *
 * <pre>{@code
 * StatusException failure = assertFails(Code.NOT_FOUND, () -> users.get(7));
 * assertFails(Code.UNAVAILABLE, Delivery.NOT_SENT, users.getAsync(7));
 * }</pre>
 */
public final class CallAssertions {
  private CallAssertions() {}

  /** Checks that a call fails with a code. */
  public static StatusException assertFails(Code code, Executable call) {
    return check(code, null, failure(call));
  }

  /** Checks that a call fails with a code, and what is known of its handler. */
  public static StatusException assertFails(Code code, Delivery delivery, Executable call) {
    return check(code, delivery, failure(call));
  }

  /** Checks that what a call has returned fails with a code, within {@link TestServer#TIMEOUT}. */
  public static StatusException assertFails(Code code, CompletionStage<?> call) {
    return check(code, null, failure(waiting(call)));
  }

  /** Checks that what a call has returned fails with a code, and what is known of its handler. */
  public static StatusException assertFails(Code code, Delivery delivery, CompletionStage<?> call) {
    return check(code, delivery, failure(waiting(call)));
  }

  /** Checks that a call fails and that its handler provably did not run: it may be repeated. */
  public static StatusException assertNotExecuted(Executable call) {
    StatusException failure = failure(call);
    Delivery delivery = failure.status().delivery();
    if (delivery != Delivery.NOT_SENT && delivery != Delivery.REFUSED) {
      throw differs("not_sent or refused", delivery.word(), failure);
    }
    return failure;
  }

  /** Checks a status, that of an interceptor or observer for instance. */
  public static void assertStatus(Code code, Delivery delivery, Status status) {
    check(code, delivery, new StatusException(status));
  }

  private static Executable waiting(CompletionStage<?> call) {
    return () -> {
      try {
        call.toCompletableFuture().get(TestServer.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        throw e.getCause();
      } catch (TimeoutException e) {
        throw new AssertionError("the call has not ended within " + TestServer.TIMEOUT, e);
      }
    };
  }

  private static StatusException failure(Executable call) {
    try {
      call.execute();
    } catch (StatusException e) {
      return e;
    } catch (AssertionError e) {
      throw e;
    } catch (Throwable e) {
      throw AssertionFailureBuilder.assertionFailure()
          .message("the call failed otherwise than by a status")
          .cause(e)
          .build();
    }
    throw new AssertionError("the call succeeded");
  }

  private static StatusException check(
      Code code, @Nullable Delivery delivery, StatusException failure) {
    Status status = failure.status();
    if (status.code() != code || (delivery != null && status.delivery() != delivery)) {
      throw differs(words(code, delivery), words(status.code(), status.delivery()), failure);
    }
    return failure;
  }

  private static String words(Code code, @Nullable Delivery delivery) {
    return delivery == null ? code.name() : code.name() + " (" + delivery.word() + ")";
  }

  private static AssertionError differs(String wanted, String was, StatusException failure) {
    return AssertionFailureBuilder.assertionFailure()
        .message("how the call ended: " + failure.getMessage())
        .expected(wanted)
        .actual(was)
        .cause(failure)
        .build();
  }
}
