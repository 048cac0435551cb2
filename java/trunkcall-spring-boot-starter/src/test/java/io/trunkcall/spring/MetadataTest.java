package io.trunkcall.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.Version;
import java.io.InputStream;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
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
  void eachPropertyIsDescribed() throws Exception {
    Set<String> described = new HashSet<>();
    try (InputStream file =
        MetadataTest.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
      String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      for (Object one :
          (List<?>) JsonParserFactory.getJsonParser().parseMap(text).get("properties")) {
        Map<?, ?> property = (Map<?, ?>) one;
        assertThat((String) property.get("description")).as("" + property.get("name")).isNotBlank();
        described.add((String) property.get("name"));
      }
    }
    Set<String> wanted = new HashSet<>(Set.of("trunkcall.clients"));
    names("trunkcall.server", ServerProperties.class, wanted);
    assertThat(described).isEqualTo(wanted);
  }

  private static void names(String prefix, Class<?> properties, Set<String> to) {
    for (RecordComponent one : properties.getRecordComponents()) {
      String name =
          prefix + "." + one.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
      if (one.getType().isRecord()) {
        names(name, one.getType(), to);
      } else {
        to.add(name);
      }
    }
  }

  @Test
  void aNettyThatIsTooOldIsNamedWithAdvice() {
    Netty.check();
    assertThat(Netty.tooOld(List.of())).contains("Netty 4.2, found none", "netty.version");
    assertThat(Netty.tooOld(Version.identify().values())).contains("found 4.2.");
  }
}
