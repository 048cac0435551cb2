package io.trunkcall.registry;

import io.trunkcall.Resolver;
import io.trunkcall.Watch;
import io.trunkcall.internal.client.Backoff;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Finds the instances of a service in a registry (registry.md 4.3, 6). */
final class RegistryResolver implements Resolver {
  private final Source source;

  RegistryResolver(Source source) {
    this.source = source;
  }

  @Override
  public void resolve(Watch watch) throws InterruptedException {
    String service = watch.target();
    if (!Names.isName(service, Names.MOST_SERVICE)) {
      watch.fail(Member.SERVICE.fault());
      Thread.sleep(Long.MAX_VALUE); // nothing will ever be found there
    }
    Watcher watcher = new Watcher(service, watch);
    try {
      int failures = 0;
      while (true) {
        int told = watcher.tellings();
        String why = watch(service, watcher);
        failures = watcher.tellings() > told ? 1 : failures + 1;
        watcher.fail(why);
        Duration pause = Backoff.pause(failures, ThreadLocalRandom.current());
        Thread.sleep(pause.toMillis() + 1);
      }
    } finally {
      watcher.end();
    }
  }

  /** Watches until the registry fails; returns why it does. */
  private String watch(String service, Watcher watcher) throws InterruptedException {
    String why = "the registry tells no more";
    try {
      source.watch(service, watcher);
    } catch (InterruptedException end) {
      throw end;
    } catch (Throwable fault) { // a package of a registry may lack classes
      why = RegistryException.spelled(fault);
    }
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    watcher.awaitFailure(Duration.ZERO); // throws once the client was closed
    return why;
  }
}
