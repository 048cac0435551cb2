package io.trunkcall.examples.spring.server;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import java.util.Map;
import org.springframework.stereotype.Component;

/** What there is of each article. */
@Component
@RemoteService("inventory")
public class Inventory {
  private final Map<String, Integer> counts = Map.of("hammer", 7, "nail", 2_000);

  @RemoteMethod
  public int count(String article) {
    Integer count = counts.get(article);
    if (count == null) {
      throw new StatusException(Code.NOT_FOUND, "there is no article " + article);
    }
    return count;
  }
}
