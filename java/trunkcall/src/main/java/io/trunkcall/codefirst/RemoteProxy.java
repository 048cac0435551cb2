package io.trunkcall.codefirst;

import io.trunkcall.Caller;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What is behind a client's interface. */
final class RemoteProxy implements InvocationHandler {
  private static final Object[] NONE = {};

  private final String service;
  private final Map<Method, RemoteFunction> functions;
  private final Caller caller;

  RemoteProxy(String service, Map<Method, RemoteFunction> functions, Caller caller) {
    this.service = service;
    this.functions = functions;
    this.caller = caller;
  }

  @Override
  public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] given)
      throws Throwable {
    @Nullable Object[] arguments = given == null ? NONE : given;
    RemoteFunction function = functions.get(method);
    if (function != null) {
      return function.call(caller, arguments);
    }
    if (method.isDefault()) {
      return InvocationHandler.invokeDefault(proxy, method, arguments);
    }
    return switch (method.getName()) {
      case "equals" -> proxy == arguments[0];
      case "hashCode" -> System.identityHashCode(proxy);
      default -> "client of " + service;
    };
  }
}
