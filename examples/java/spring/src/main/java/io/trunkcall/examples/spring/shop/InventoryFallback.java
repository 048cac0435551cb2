package io.trunkcall.examples.spring.shop;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.spring.FallbackFactory;
import java.util.concurrent.CompletableFuture;

/** While the inventory cannot be reached the shop has nothing. What it answers counts. */
public class InventoryFallback implements FallbackFactory<InventoryClient> {
  @Override
  public InventoryClient create(StatusException failure) {
    if (failure.code() != Code.UNAVAILABLE) {
      throw failure;
    }
    return new InventoryClient() {
      @Override
      public int count(String article) {
        return 0;
      }

      @Override
      public CompletableFuture<Integer> countAsync(String article) {
        return CompletableFuture.completedFuture(0);
      }
    };
  }
}
