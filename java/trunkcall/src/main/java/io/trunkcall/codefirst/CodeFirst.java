package io.trunkcall.codefirst;

import io.trunkcall.Caller;
import io.trunkcall.Handler;
import io.trunkcall.Policy;
import java.util.List;

/**
 * Services and clients of annotated classes and interfaces, one by one. {@link ServiceCentre} and
 * {@link RemoteClients} are for many.
 *
 * <p>Arguments and results travel as MessagePack, or as JSON if the caller asks for that
 * (spec/code-first.md).
 */
public final class CodeFirst {
  private CodeFirst() {}

  /**
   * What serves the methods of an object whose class, or an interface of it, is a {@link
   * RemoteService}. Its types are read now; a call is a look-up of its name.
   *
   * @throws IllegalArgumentException naming the class, method and parameter that cannot be served
   */
  public static List<Handler> handlers(Object service) {
    return ServiceReading.handlers(service);
  }

  /**
   * An object of a {@link RemoteClient} that calls through {@code caller}; the interface's target
   * does not count. It may be used by all threads. What {@code policies} say, those of a
   * configuration for instance, counts before the interface's {@link CallPolicy}.
   *
   * @throws IllegalArgumentException naming the class, method and parameter that cannot be called
   */
  public static <T> T client(Class<T> type, Caller caller, Policy... policies) {
    return ClientReading.read(type, policies).proxy(type, caller);
  }

  /**
   * What a {@link RemoteClient} says of its calls that a client has to be told when it is made:
   * whether they are repeated. {@code policies} are those that {@link #client} is given.
   *
   * @throws IllegalArgumentException as {@link #client}
   */
  public static List<Policy> policies(Class<?> type, Policy... policies) {
    return ClientReading.read(type, policies).policies();
  }

  /**
   * The public name of the service that a {@link RemoteClient} calls.
   *
   * @throws IllegalArgumentException for another interface, or a name that is none
   */
  public static String service(Class<?> type) {
    return ClientReading.service(type);
  }

  /**
   * Checks an interface of a client against the class that it calls, where both are at hand: in a
   * test, say.
   *
   * @throws IllegalArgumentException naming the interface's method that the class does not serve,
   *     or the parameter or result that is of another kind
   */
  public static void check(Class<?> client, Class<?> service) {
    ClientReading.read(client).check(service);
  }
}
