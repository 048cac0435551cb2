package io.trunkcall.spring;

import io.trunkcall.ClientBuilder;

/**
 * A bean that sets up clients beyond their properties: a resolver, a balancer, a dialer of one's
 * own. Asked for each client, the last of all.
 */
@FunctionalInterface
public interface ClientCustomizer {
  /** Says more of the client of a target. */
  void customize(String target, ClientBuilder builder);
}
