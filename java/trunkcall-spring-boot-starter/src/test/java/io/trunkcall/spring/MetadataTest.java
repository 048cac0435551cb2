package io.trunkcall.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.Version;
import java.io.InputStream;
import java.lang.invoke.MethodType;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
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
    Map<String, String> described = new TreeMap<>(); // types by name
    try (InputStream file =
        MetadataTest.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
      String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      for (Object one :
          (List<?>) JsonParserFactory.getJsonParser().parseMap(text).get("properties")) {
        Map<?, ?> property = (Map<?, ?>) one;
        assertThat((String) property.get("description")).as("" + property.get("name")).isNotBlank();
        described.put((String) property.get("name"), (String) property.get("type"));
      }
    }
    Map<String, String> wanted = new TreeMap<>();
    names("trunkcall", ClientsProperties.class, wanted);
    names("trunkcall.server", ServerProperties.class, wanted);
    names("trunkcall.clients.default", ClientSettings.class, wanted); // written by hand
    assertThat(described).isEqualTo(wanted);
  }

  private static void names(String prefix, Class<?> properties, Map<String, String> to) {
    for (RecordComponent one : properties.getRecordComponents()) {
      String name =
          prefix + "." + one.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
      if (one.getType().isRecord()) {
        names(name, one.getType(), to);
      } else {
        String type = MethodType.methodType(one.getType()).wrap().returnType().getName();
        String full = one.getType().isPrimitive() ? type : one.getGenericType().getTypeName();
        to.put(name, full.replace(" ", ""));
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
