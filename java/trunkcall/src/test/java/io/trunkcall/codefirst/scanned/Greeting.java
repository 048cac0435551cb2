package io.trunkcall.codefirst.scanned;

import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;

/** An interface whose implementation is a service. */
@RemoteService
interface Greeting {
  @RemoteMethod
  String greet(String name);
}
