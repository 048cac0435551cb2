package io.trunkcall.spring;

import io.netty.util.Version;
import java.util.Collection;
import org.springframework.util.ClassUtils;

/** Spring Boot 3 manages a version of Netty that is older than what Trunkcall stands on. */
final class Netty {
  private static final String SINCE_4_2 = "io.netty.channel.IoHandler";

  private Netty() {}

  /** Throws IllegalStateException, with advice, where Netty is too old. */
  static void check() {
    if (!ClassUtils.isPresent(SINCE_4_2, Netty.class.getClassLoader())) {
      throw new IllegalStateException(tooOld(Version.identify().values()));
    }
  }

  static String tooOld(Collection<Version> found) {
    String there =
        found.stream().map(Version::artifactVersion).distinct().sorted().findFirst().orElse("none");
    return "Trunkcall needs Netty 4.2, found "
        + there
        + ": set Maven's property netty.version, or Gradle's ext['netty.version'], which count"
        + " before what Spring Boot manages";
  }
}
