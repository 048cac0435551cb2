package io.trunkcall.examples.spring.shop;

import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.spring.ClientFallback;
import java.util.concurrent.CompletableFuture;

/** The inventory as the shop calls it. */
@RemoteClient(service = "inventory", target = "${inventory.target}")
@ClientFallback(InventoryFallback.class)
public interface InventoryClient {
  int count(String article);

  @RemoteMethod("count")
  CompletableFuture<Integer> countAsync(String article);
}
