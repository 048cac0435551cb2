package io.trunkcall.spring;

import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What clients are to be.
 *
 * @param clients By the public name of the service that they call, or by a name of your own;
 *     "default" holds for all.
 */
@ConfigurationProperties("trunkcall")
public record ClientsProperties(@DefaultValue Map<String, ClientSettings> clients) {
  /** The name of what holds for all. */
  static final String DEFAULT = "default";

  /** What is said of a client. */
  ClientSettings of(String name) {
    ClientSettings all = said(DEFAULT);
    ClientSettings own = said(name);
    ClientSettings usual = all == null ? ClientSettings.NONE : all;
    return (own == null ? ClientSettings.NONE : own).over(usual);
  }

  /** The target of those of which none is said; may be empty. */
  String usualTarget() {
    ClientSettings all = said(DEFAULT);
    return all == null || all.target() == null ? "" : all.target();
  }

  /** By its name, or by that as an environment variable has it. */
  private @Nullable ClientSettings said(String name) {
    ClientSettings exactly = clients.get(name);
    return exactly != null ? exactly : clients.get(name.toLowerCase(Locale.ROOT));
  }

  /** Whether a key is a name, see {@link #said}. */
  static boolean names(String key, String name) {
    return key.equals(name) || key.equals(name.toLowerCase(Locale.ROOT));
  }
}
