package io.trunkcall.spring;

import java.util.ArrayList;
import java.util.List;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;

/** The definitions of the beans that call services. */
final class ClientDefinitions {
  private static final String MARK = ClientDefinitions.class.getName();

  private ClientDefinitions() {}

  /** Registers an interface once. It goes before other beans of its type: they are fallbacks. */
  static <T> void register(
      Class<T> type, ConfigurableListableBeanFactory beans, BeanDefinitionRegistry registry) {
    String name = type.getName();
    if (registry.containsBeanDefinition(name)) {
      return;
    }
    RootBeanDefinition definition =
        new RootBeanDefinition(type, () -> beans.getBean(TrunkcallClients.class).get(type));
    definition.setPrimary(true);
    definition.setAttribute(MARK, type);
    registry.registerBeanDefinition(name, definition);
  }

  /** The interfaces that are registered. */
  static List<Class<?>> types(ConfigurableListableBeanFactory beans) {
    List<Class<?>> types = new ArrayList<>();
    for (String name : beans.getBeanDefinitionNames()) {
      if (beans.getBeanDefinition(name).getAttribute(MARK) instanceof Class<?> type) {
        types.add(type);
      }
    }
    return types;
  }

  /** Whether a bean calls a service. */
  static boolean isClient(ConfigurableListableBeanFactory beans, String name) {
    if (!beans.containsBeanDefinition(name)) {
      return false;
    }
    BeanDefinition definition = beans.getBeanDefinition(name);
    return definition.hasAttribute(MARK);
  }

  /** The classes that stand in for services, see {@link ClientFallback}. */
  static List<Class<?>> fallbacks(ConfigurableListableBeanFactory beans) {
    List<Class<?>> all = new ArrayList<>();
    for (Class<?> type : types(beans)) {
      ClientFallback fallback = type.getAnnotation(ClientFallback.class);
      if (fallback != null) {
        all.add(fallback.value());
      }
    }
    return all;
  }
}
