package io.trunkcall.lab.dubbo;

import io.trunkcall.lab.smoke.Smoke;
import org.junit.jupiter.api.Test;

class DubboPeerTest {
  @Test
  void answersBlockingAndAsynchronousCalls() throws Exception {
    try (Smoke smoke = Smoke.serve(DubboPeer::new)) {
      for (String method : new String[] {"Say", "Echo"}) {
        smoke.answers(method);
        smoke.answers(method, "--async");
      }
    }
  }

  @Test
  void mistakesAreOneLineAndAStatus() {
    Smoke.mistakes(DubboPeer::new, "Dubbo");
    Smoke.refused(
        DubboPeer::new,
        2,
        "--connections above 1",
        "bench",
        "--target",
        "127.0.0.1:1",
        "--connections",
        "2");
  }
}
