package io.trunkcall.internal.client;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Method;
import io.trunkcall.Outcome;
import io.trunkcall.PickObserver;
import io.trunkcall.Status;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An attempt to make a call, as far as it concerns the choice of an endpoint. On the loop only. */
public abstract class Opening {
  private static final Status NOT_TAKEN =
      Status.of(Code.UNAVAILABLE, "the call did not go there")
          .withDelivery(Delivery.NOT_SENT)
          .withLocal(true);

  private @Nullable ClientEndpoint avoid;
  private Collection<ClientEndpoint> tried = List.of();
  private @Nullable ClientEndpoint endpoint;
  private @Nullable PickObserver observer;
  private long given;
  private long hopes; // the last attempt to connect that was begun when it first had to wait

  /** What is called. */
  protected abstract Method<?, ?> method();

  /** What goes with the request. */
  protected abstract Metadata metadata();

  /** Has the attempt go to another endpoint than that of the attempt before, if there is one. */
  public void avoid(@Nullable ClientEndpoint endpoint) {
    avoid = endpoint;
  }

  /** Has it go to none of these, where there is another that a policy file's rules choose. */
  public void elsewhere(Collection<ClientEndpoint> tried) {
    this.tried = tried;
  }

  Collection<ClientEndpoint> tried() {
    return tried;
  }

  /** What chooses its endpoint by a policy file; null: the client's balancer. */
  protected @Nullable Chooser chooser() {
    return null;
  }

  /** The endpoint that was picked for it, until the attempt has ended. */
  public @Nullable ClientEndpoint picked() {
    return endpoint;
  }

  @Nullable ClientEndpoint avoided() {
    return avoid;
  }

  /** Of attempts to connect, {@code begun} so far, the last one that it waits for. */
  long hopes(long begun) {
    if (hopes == 0) {
      hopes = begun;
    }
    return hopes;
  }

  /** There is a connection for it. */
  void found() {
    hopes = 0;
  }

  void picked(ClientEndpoint endpoint, @Nullable PickObserver observer) {
    this.endpoint = endpoint;
    this.observer = observer;
    given = endpoint.now();
  }

  /** It was given to a connection just now, after it had waited for a slot there. */
  public void given() {
    if (endpoint != null) {
      given = endpoint.now();
    }
  }

  /** The attempt has ended. Nothing happens when it had before, or nothing was picked for it. */
  public void ended(Status status) {
    ClientEndpoint picked = endpoint;
    PickObserver told = observer;
    endpoint = null;
    observer = null;
    if (picked != null) {
      long took = picked.sample(method().kind(), status, given);
      if (told != null) {
        picked.tell(told, new Outcome(status, Duration.ofNanos(took)));
      }
    }
  }

  /** Nothing came of what was picked. */
  public void unpick() {
    ended(NOT_TAKEN);
  }
}
