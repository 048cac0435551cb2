package io.trunkcall.codefirst.scanned;

/** A service by its interface. */
final class Greeter implements Greeting {
  @Override
  public String greet(String name) {
    return "hello " + name;
  }
}
