package io.trunkcall.spring;

import io.trunkcall.codefirst.RemoteClient;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.EnvironmentAware;
import org.springframework.context.ResourceLoaderAware;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.annotation.AnnotationAttributes;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.core.type.filter.AnnotationTypeFilter;
import org.springframework.util.ClassUtils;

/** Registers the interfaces that {@link EnableRemoteClients} names or has looked for. */
final class ClientsRegistrar
    implements ImportBeanDefinitionRegistrar, ResourceLoaderAware, EnvironmentAware {
  private ResourceLoader loader;
  private Environment environment;

  @SuppressWarnings("NullAway.Init") // Spring sets both
  ClientsRegistrar() {}

  @Override
  public void setResourceLoader(ResourceLoader given) {
    loader = given;
  }

  @Override
  public void setEnvironment(Environment given) {
    environment = given;
  }

  @Override
  public void registerBeanDefinitions(
      AnnotationMetadata annotated, BeanDefinitionRegistry registry) {
    AnnotationAttributes said =
        AnnotationAttributes.fromMap(
            annotated.getAnnotationAttributes(EnableRemoteClients.class.getName()));
    if (said == null) {
      return;
    }
    Class<?>[] given = said.getClassArray("clients");
    Set<String> packages = packages(said);
    if (packages.isEmpty() && given.length == 0) {
      packages.add(ClassUtils.getPackageName(annotated.getClassName()));
    }
    Set<Class<?>> types = new LinkedHashSet<>(List.of(given));
    packages.forEach(each -> types.addAll(find(each)));
    types.forEach(each -> ClientDefinitions.register(each, beans(registry), registry));
  }

  private static ConfigurableListableBeanFactory beans(BeanDefinitionRegistry registry) {
    return (ConfigurableListableBeanFactory) registry;
  }

  private static Set<String> packages(AnnotationAttributes said) {
    Set<String> packages = new LinkedHashSet<>(List.of(said.getStringArray("basePackages")));
    for (Class<?> each : said.getClassArray("basePackageClasses")) {
      packages.add(ClassUtils.getPackageName(each));
    }
    return packages;
  }

  private Set<Class<?>> find(String where) {
    ClassPathScanningCandidateComponentProvider scan =
        new ClassPathScanningCandidateComponentProvider(false, environment) {
          @Override
          protected boolean isCandidateComponent(AnnotatedBeanDefinition found) {
            return found.getMetadata().isIndependent();
          }
        };
    scan.setResourceLoader(loader);
    scan.addIncludeFilter(new AnnotationTypeFilter(RemoteClient.class, false));
    Set<Class<?>> types = new LinkedHashSet<>();
    for (BeanDefinition each : scan.findCandidateComponents(where)) {
      String name = each.getBeanClassName();
      if (name != null) {
        types.add(ClassUtils.resolveClassName(name, loader.getClassLoader()));
      }
    }
    return types;
  }
}
