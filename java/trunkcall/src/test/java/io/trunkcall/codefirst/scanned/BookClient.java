package io.trunkcall.codefirst.scanned;

import io.trunkcall.codefirst.Callback;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A client that a scan finds. */
@RemoteClient(service = "library", target = "127.0.0.1:1")
public interface BookClient {
  Book find(String title);

  @RemoteMethod("find")
  void find(String title, Callback<Book> done);

  @RemoteMethod("byTitle")
  CompletableFuture<Map<String, Book>> all(List<String> titles);
}
