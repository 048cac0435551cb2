package io.trunkcall.registry;

/** Where the instances of services are found. Any thread may use it. */
public interface Source {
  /**
   * Tells a watcher of the entries of a service, all of them at first and then each change, until
   * its thread is interrupted. When it throws, or returns, it is called again, later each time, and
   * tells of all entries again. What was found meanwhile stays.
   */
  void watch(String service, Watcher watcher) throws Exception;
}
