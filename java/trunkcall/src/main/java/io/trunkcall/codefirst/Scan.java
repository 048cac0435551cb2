package io.trunkcall.codefirst;

import io.github.classgraph.ClassGraph;
import io.github.classgraph.ClassInfo;
import io.github.classgraph.ClassInfoList;
import io.github.classgraph.ScanResult;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The annotated classes and interfaces of some packages, found once in the class path without
 * loading any other class.
 *
 * @param services classes with {@link RemoteService}, or of an interface that has it
 * @param clients interfaces with {@link RemoteClient}
 */
record Scan(List<Class<?>> services, List<Class<?>> clients) {
  /** Throws IllegalArgumentException for packages in which nothing is annotated. */
  static Scan of(List<String> packages) {
    ClassGraph graph =
        new ClassGraph()
            .enableAnnotationInfo()
            .ignoreClassVisibility()
            .acceptPackages(packages.toArray(String[]::new));
    try (ScanResult result = graph.scan()) {
      ClassInfoList annotated = result.getClassesWithAnnotation(RemoteService.class.getName());
      Set<ClassInfo> services = new LinkedHashSet<>();
      for (ClassInfo each : annotated) {
        if (each.isInterface()) {
          services.addAll(result.getClassesImplementing(each.getName()));
        } else {
          services.add(each);
        }
      }
      services.removeIf(each -> each.isInterface() || each.isAbstract());
      List<Class<?>> clients = new ArrayList<>();
      for (ClassInfo each : result.getClassesWithAnnotation(RemoteClient.class.getName())) {
        clients.add(each.loadClass());
      }
      List<Class<?>> loaded = new ArrayList<>();
      for (ClassInfo each : services) {
        loaded.add(each.loadClass());
      }
      if (loaded.isEmpty() && clients.isEmpty()) {
        throw new IllegalArgumentException(
            "scan: there is no class with @RemoteService and no interface with @RemoteClient in "
                + String.join(", ", packages));
      }
      return new Scan(loaded, clients);
    }
  }

  /** Checks the interfaces against the classes that they call, where both were found. */
  void check() {
    for (Class<?> client : clients) {
      String name = ClientReading.service(client);
      for (Class<?> service : services) {
        if (ServiceReading.names(service).equals(Set.of(name))) {
          CodeFirst.check(client, service);
        }
      }
    }
  }
}
