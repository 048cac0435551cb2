package io.trunkcall.internal.transport.http;

import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;

/**
 * The head of a request.
 *
 * @param path without the query
 * @param query what stands behind {@code ?}, empty if nothing does
 * @param authority the host, and perhaps port, that was asked for
 * @param length what {@code Content-Length} says, -1 without
 */
record Request(
    String method, String path, String query, String authority, List<Field> fields, long length) {
  /** A request for {@code target}, which is a path with its query, or a whole URL. */
  static Request of(
      String method, String target, String authority, List<Field> fields, long length) {
    String path = target;
    int scheme = target.indexOf("://");
    if (scheme > 0 && !target.startsWith("/")) {
      int slash = target.indexOf('/', scheme + 3);
      path = slash < 0 ? "/" : target.substring(slash);
    }
    int cut = path.indexOf('?');
    String query = cut < 0 ? "" : path.substring(cut + 1);
    String bare = cut < 0 ? path : path.substring(0, cut);
    return new Request(method, Urls.path(bare), query, authority, fields, length);
  }

  /** The first field of this name, empty if there is none. */
  String first(String name) {
    for (Field field : fields) {
      if (field.name().equals(name)) {
        return field.value();
      }
    }
    return "";
  }

  /** All fields of this name, in order. */
  List<String> all(String name) {
    List<String> found = new ArrayList<>(1);
    for (Field field : fields) {
      if (field.name().equals(name)) {
        found.add(field.value());
      }
    }
    return found;
  }

  /** All fields of this name in one, with commas. */
  String joined(String name) {
    StringJoiner joined = new StringJoiner(",");
    all(name).forEach(joined::add);
    return joined.toString();
  }

  boolean isGet() {
    return method.equals("GET");
  }
}
