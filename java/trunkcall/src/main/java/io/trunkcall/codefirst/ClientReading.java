package io.trunkcall.codefirst;

import io.trunkcall.CallOptions;
import io.trunkcall.Caller;
import io.trunkcall.Policy;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the interfaces of clients once, when they are made. A call is a look-up in a table. */
final class ClientReading {
  private final Class<?> type;
  private final String service;
  private final Map<Method, RemoteFunction> functions = new HashMap<>();

  /** The first of the forms of each remote method, by its public name. */
  private final Map<String, Form> forms = new LinkedHashMap<>();

  private record Form(Method method, Signature signature) {}

  private final Map<String, Policy> policies = new LinkedHashMap<>();

  private final List<Policy>
      over; // what counts before the interface's own, the most specific first

  private ClientReading(Class<?> type, Policy... over) {
    this.type = type;
    this.over =
        Stream.of(over).sorted(Comparator.comparing(one -> -one.method().length())).toList();
    this.service = service(type);
  }

  static ClientReading read(Class<?> type, Policy... over) {
    if (!type.isInterface()) {
      throw new IllegalArgumentException(
          type.getName() + " is no interface, but a class: want the interface to call");
    }
    ClientReading reading = new ClientReading(type, over);
    Method[] methods = type.getMethods();
    // In a fixed order, so that an error is always the same.
    List<Method> sorted = new ArrayList<>(List.of(methods));
    sorted.sort(Comparator.comparing(Method::getName).thenComparing(Method::toGenericString));
    for (Method method : sorted) {
      if (Modifier.isAbstract(method.getModifiers()) && !isOfObject(method)) {
        reading.add(method);
      }
    }
    if (reading.functions.isEmpty()) {
      throw new IllegalArgumentException(type.getName() + " has no methods to call");
    }
    return reading;
  }

  /** The public name of the service that an interface calls. */
  static String service(Class<?> type) {
    RemoteClient client = type.getAnnotation(RemoteClient.class);
    if (client == null && !type.isAnnotationPresent(RemoteService.class)) {
      throw new IllegalArgumentException(
          type.getName() + " has neither @RemoteClient nor @RemoteService");
    }
    if (client == null || client.service().isEmpty()) {
      return ServiceReading.name(type);
    }
    try {
      return PublicNames.check("service", client.service());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(type.getName() + ": " + e.getMessage(), e);
    }
  }

  /** Whether all objects have a method. */
  private static boolean isOfObject(Method method) {
    try {
      Object.class.getMethod(method.getName(), method.getParameterTypes());
      return true;
    } catch (NoSuchMethodException e) {
      return false;
    }
  }

  private void add(Method method) {
    try {
      String name = ServiceReading.publicName(method.getAnnotation(RemoteMethod.class), method);
      List<Declared> parameters = Declared.parameters(method);
      Declared callback = takeLast(parameters, Callback.class);
      boolean withOptions = takeLast(parameters, CallOptions.class) != null;
      Signature signature =
          Signature.of(PublicNames.ofMethod(service, name), parameters, result(method, callback));
      agree(name, new Form(method, signature));
      CallSettings settings = CallSettings.of(type, method).under(said(signature.name));
      policy(signature.name, settings);
      functions.put(
          method, new RemoteFunction(signature, way(method, callback), withOptions, settings));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          type.getName() + "." + method.getName() + ": " + e.getMessage(), e);
    }
  }

  /** What the policies given say of a remote method. */
  private List<Policy> said(String method) {
    return over.stream()
        .filter(
            one ->
                one.method().isEmpty()
                    || one.method().equals(method)
                    || (one.method().endsWith("/") && method.startsWith(one.method())))
        .toList();
  }

  /** Takes the last parameter if it is of a type. */
  private static @Nullable Declared takeLast(List<Declared> parameters, Class<?> wanted) {
    int last = parameters.size() - 1;
    return last >= 0 && parameters.get(last).raw() == wanted ? parameters.remove(last) : null;
  }

  private static boolean isFuture(Method method) {
    return method.getReturnType() == CompletableFuture.class
        || method.getReturnType() == CompletionStage.class;
  }

  private static Declared result(Method method, @Nullable Declared callback) {
    if (callback != null) {
      if (method.getReturnType() != void.class) {
        throw new IllegalArgumentException("it has a callback, and so has to return nothing");
      }
      return Declared.ofArgument(callback.type());
    }
    return isFuture(method)
        ? Declared.ofArgument(method.getAnnotatedReturnType())
        : Declared.result(method);
  }

  private static RemoteFunction.Way way(Method method, @Nullable Declared callback) {
    if (callback != null) {
      return RemoteFunction.Way.CALLBACK;
    }
    return isFuture(method) ? RemoteFunction.Way.FUTURE : RemoteFunction.Way.WAIT;
  }

  /** The forms of one remote method take and give the same. */
  private void agree(String name, Form form) {
    Form other = forms.putIfAbsent(name, form);
    if (other != null && !other.signature().types.equals(form.signature().types)) {
      throw new IllegalArgumentException(
          "it calls "
              + form.signature().name
              + " as "
              + form.signature().types
              + ", but "
              + other.method().getName()
              + " as "
              + other.signature().types);
    }
  }

  private void policy(String method, CallSettings settings) {
    Boolean repeat = settings.repeat();
    if (repeat == null) {
      return;
    }
    Policy policy = new Policy(method, null, null, repeat);
    Policy other = policies.put(method, policy);
    if (other != null && !Objects.equals(other.repeat(), repeat)) {
      throw new IllegalArgumentException("another form of " + method + " says otherwise of repeat");
    }
  }

  Class<?> type() {
    return type;
  }

  List<Policy> policies() {
    return List.copyOf(policies.values());
  }

  /** Throws IllegalArgumentException for a class that does not serve what the interface calls. */
  void check(Class<?> served) {
    Map<String, ServedMethod> methods = new HashMap<>();
    ServiceReading.read(served).forEach(each -> methods.put(each.signature().name, each));
    for (Form form : forms.values()) {
      ServedMethod method = methods.get(form.signature().name);
      String wrong =
          method == null
              ? served.getName() + " does not serve " + form.signature().name
              : misfit(form.signature(), method);
      if (wrong != null) {
        throw new IllegalArgumentException(
            type.getName() + "." + form.method().getName() + ": " + wrong);
      }
    }
  }

  private static @Nullable String misfit(Signature calls, ServedMethod served) {
    String wrong = served.signature().parameters.misfit("parameter", calls.parameters);
    if (wrong == null && calls.results.size() > 0) { // a caller may drop results
      wrong = served.signature().results.misfit("result", calls.results);
    }
    return wrong == null ? null : wrong + " in " + ServiceReading.words(served.method());
  }

  /** An object of the interface. */
  <T> T proxy(Class<T> of, Caller caller) {
    Objects.requireNonNull(caller, "caller");
    ClassLoader loader = of.getClassLoader();
    return of.cast(
        Proxy.newProxyInstance(
            loader, new Class<?>[] {of}, new RemoteProxy(service, functions, caller)));
  }
}
