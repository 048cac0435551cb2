package io.trunkcall.codefirst;

import io.trunkcall.Code;
import io.trunkcall.Handler;
import io.trunkcall.ServerCall;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Reads annotated classes once, when they are published. No name of theirs is looked up later. */
final class ServiceReading {
  private final Class<?> described;
  private final Object service;
  private final String name;
  private final Map<String, Method> served = new HashMap<>();
  private final List<Handler> handlers = new ArrayList<>();

  private ServiceReading(Class<?> described, Object service) {
    this.described = described;
    this.service = service;
    this.name = name(described);
  }

  static List<Handler> handlers(Object service) {
    Set<Class<?>> described = described(service.getClass());
    if (described.isEmpty()) {
      throw new IllegalArgumentException(
          service.getClass().getName() + ": neither it nor an interface of it has @RemoteService");
    }
    List<Handler> all = new ArrayList<>();
    Set<String> served = new HashSet<>();
    for (Class<?> each : described) {
      ServiceReading reading = new ServiceReading(each, service);
      all.addAll(reading.read());
      reading.served.values().forEach(method -> served.add(call(method)));
    }
    refuseOthers(service.getClass(), served);
    return all;
  }

  /** What a method that overrides another has the same of. */
  private static String call(Method method) {
    return method.getName() + Arrays.toString(method.getParameterTypes());
  }

  /** Refuses annotations that have no effect. */
  private static void refuseOthers(Class<?> type, Set<String> served) {
    Set<String> overridden = new HashSet<>();
    for (Class<?> each : hierarchy(type)) {
      for (Method method : each.getDeclaredMethods()) {
        if (overridden.add(call(method))
            && method.isAnnotationPresent(RemoteMethod.class)
            && !served.contains(call(method))) {
          throw new IllegalArgumentException(
              words(method)
                  + ": it has @RemoteMethod, but is not served: its class has no @RemoteService");
        }
      }
    }
  }

  /** The public name of a service. */
  static String name(Class<?> described) {
    RemoteService service = described.getAnnotation(RemoteService.class);
    String given = service == null ? "" : service.value();
    try {
      return PublicNames.check(
          "service", given.isEmpty() ? PublicNames.of(described.getSimpleName()) : given);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(described.getName() + ": " + e.getMessage(), e);
    }
  }

  /** The classes and interfaces of an object that say which of its methods are served. */
  private static Set<Class<?>> described(Class<?> type) {
    Set<Class<?>> found = new LinkedHashSet<>();
    for (Class<?> each : hierarchy(type)) {
      if (each.isAnnotationPresent(RemoteService.class)) {
        found.add(each);
        if (!each.isInterface()) {
          return Set.of(each); // the class itself says it
        }
      }
    }
    return found;
  }

  /** A class, its superclasses, then their interfaces. */
  private static Set<Class<?>> hierarchy(Class<?> type) {
    Set<Class<?>> all = new LinkedHashSet<>();
    for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
      all.add(each);
    }
    List<Class<?>> above = new ArrayList<>(all);
    for (int i = 0; i < above.size(); i++) {
      above.addAll(Arrays.asList(above.get(i).getInterfaces()));
    }
    all.addAll(above);
    return all;
  }

  private List<Handler> read() {
    Set<String> overridden = new HashSet<>();
    for (Class<?> each : hierarchy(described)) {
      for (Method method : each.getDeclaredMethods()) {
        if (method.isBridge() || method.isSynthetic()) {
          continue;
        }
        // A method that overrides an annotated one, and is not annotated itself, is not served.
        boolean first = overridden.add(call(method)) || Modifier.isPrivate(method.getModifiers());
        if (first && method.isAnnotationPresent(RemoteMethod.class)) {
          add(method);
        }
      }
    }
    if (handlers.isEmpty()) {
      throw new IllegalArgumentException(
          described.getName() + ": none of its methods has @RemoteMethod");
    }
    return handlers;
  }

  static String words(Method method) {
    return method.getDeclaringClass().getName() + "." + method.getName();
  }

  private void add(Method method) {
    try {
      if (!Modifier.isPublic(method.getModifiers()) || Modifier.isStatic(method.getModifiers())) {
        throw new IllegalArgumentException(
            "it has @RemoteMethod, but is not a public method of an object");
      }
      RemoteMethod annotation = method.getAnnotation(RemoteMethod.class);
      String publicName = publicName(annotation, method);
      Method other = served.put(publicName, method);
      if (other != null) {
        throw new IllegalArgumentException(
            "its public name " + publicName + " is that of " + words(other) + " too");
      }
      Handler handler = handler(PublicNames.ofMethod(name, publicName), method);
      handlers.add(annotation != null && annotation.inline() ? handler.inline() : handler);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(words(method) + ": " + e.getMessage(), e);
    }
  }

  /** The public name of a method. */
  static String publicName(@Nullable RemoteMethod annotation, Method method) {
    String given = annotation == null ? "" : annotation.value();
    return PublicNames.check("method", given.isEmpty() ? PublicNames.of(method.getName()) : given);
  }

  private Handler handler(String publicName, Method method) {
    List<Declared> parameters = Declared.parameters(method);
    boolean takesCall = !parameters.isEmpty() && parameters.get(0).raw() == ServerCall.class;
    boolean later =
        method.getReturnType() == CompletionStage.class
            || method.getReturnType() == CompletableFuture.class;
    Signature signature =
        Signature.of(
            publicName,
            takesCall ? parameters.subList(1, parameters.size()) : parameters,
            later ? Declared.ofArgument(method.getAnnotatedReturnType()) : Declared.result(method));
    Served function = new Served(signature, Handles.method(method, service), takesCall);
    io.trunkcall.Method<Arguments, Results> serves = signature.method(ValueCodec.Form.MESSAGE_PACK);
    return later
        ? Handler.unaryAsync(serves, function::answerLater)
        : Handler.unary(serves, function::answer);
  }

  /** A method that is served. */
  private record Served(Signature signature, MethodHandle handle, boolean takesCall) {
    Results answer(Arguments arguments, ServerCall call) throws Exception {
      return results(invoke(arguments, call));
    }

    CompletionStage<Results> answerLater(Arguments arguments, ServerCall call) throws Exception {
      if (invoke(arguments, call) instanceof CompletionStage<?> stage) {
        return stage.thenApply(this::results);
      }
      throw new IllegalStateException("a method that is to answer later returned null");
    }

    private @Nullable Object invoke(Arguments arguments, ServerCall call) throws Exception {
      if (arguments.signature != signature) {
        throw Signature.failed(
            Code.INTERNAL,
            "an interceptor replaced the arguments of " + signature.name + " by others",
            null);
      }
      @Nullable Object[] values = arguments.values;
      if (takesCall) {
        values = new Object[values.length + 1];
        values[0] = call;
        System.arraycopy(arguments.values, 0, values, 1, arguments.values.length);
      }
      try {
        return (Object) handle.invokeExact(values);
      } catch (Exception | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException(e);
      }
    }

    private Results results(@Nullable Object value) {
      try {
        return new Results(signature, signature.resultForm.apart(value));
      } catch (ValueException e) {
        throw Signature.failed(Code.INTERNAL, signature.name + e.told(), e);
      }
    }
  }
}
