package io.trunkcall.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.Version;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.json.JsonParserFactory;

/** What editors are told of properties, and what is told of a Netty that is too old. */
class MetadataTest {
  @Test
  void propertiesHaveTypesAndDescriptions() throws Exception {
    try (InputStream file =
        MetadataTest.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
      String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      List<?> properties =
          (List<?>) JsonParserFactory.getJsonParser().parseMap(text).get("properties");
      assertThat(properties.toString())
          .contains("trunkcall.server.listen", "trunkcall.server.limits.message-size")
          .contains("Where it listens")
          .contains("type=java.time.Duration")
          .doesNotContain("jspecify");
    }
  }

  @Test
  void aNettyThatIsTooOldIsNamedWithAdvice() {
    Netty.check();
    assertThat(Netty.tooOld(List.of())).contains("Netty 4.2, found none", "netty.version");
    assertThat(Netty.tooOld(Version.identify().values())).contains("found 4.2.");
  }
}
