package io.trunkcall.codefirst.scanned;

import io.trunkcall.codefirst.RemoteClient;

/** An interface that does not say where its service is. */
@RemoteClient(service = "library")
public interface NoTarget {
  Book find(String title);
}
