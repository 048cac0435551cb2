package io.trunkcall.codefirst;

import io.trunkcall.Handler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads annotated classes once, when they are published. No name of theirs is looked up later. */
final class ServiceReading {
  private final Class<?> described;
  private final String name;
  private final Map<String, ServedMethod> served = new LinkedHashMap<>(); // by public name

  private ServiceReading(Class<?> described) {
    this.described = described;
    this.name = name(described);
  }

  /** What serves the methods of an object. */
  static List<Handler> handlers(Object service) {
    return read(service.getClass()).stream().map(each -> each.handler(service)).toList();
  }

  /** The methods of a class that are served. */
  static List<ServedMethod> read(Class<?> type) {
    Set<Class<?>> described = described(type);
    if (described.isEmpty()) {
      throw new IllegalArgumentException(
          type.getName() + ": neither it nor an interface of it has @RemoteService");
    }
    List<ServedMethod> all = new ArrayList<>();
    for (Class<?> each : described) {
      all.addAll(new ServiceReading(each).read());
    }
    Set<String> served = new HashSet<>();
    all.forEach(each -> served.add(call(each.method())));
    refuseOthers(type, served);
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
        if (!method.isBridge()
            && overridden.add(call(method))
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

  /** The public names of the services that a class is. */
  static Set<String> names(Class<?> type) {
    Set<String> names = new HashSet<>();
    described(type).forEach(each -> names.add(name(each)));
    return names;
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

  private Collection<ServedMethod> read() {
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
    if (served.isEmpty()) {
      throw new IllegalArgumentException(
          described.getName() + ": none of its methods has @RemoteMethod");
    }
    return served.values();
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
      ServedMethod other =
          served.put(
              publicName,
              ServedMethod.of(
                  method,
                  PublicNames.ofMethod(name, publicName),
                  annotation != null && annotation.inline()));
      if (other != null) {
        throw new IllegalArgumentException(
            "its public name " + publicName + " is that of " + words(other.method()) + " too");
      }
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(words(method) + ": " + e.getMessage(), e);
    }
  }

  /** The public name of a method. */
  static String publicName(@Nullable RemoteMethod annotation, Method method) {
    String given = annotation == null ? "" : annotation.value();
    return PublicNames.check("method", given.isEmpty() ? PublicNames.of(method.getName()) : given);
  }
}
