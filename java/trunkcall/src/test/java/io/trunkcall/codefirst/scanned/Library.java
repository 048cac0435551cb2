package io.trunkcall.codefirst.scanned;

import io.trunkcall.Code;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A service that a scan finds. */
@RemoteService
public final class Library {
  private static final Map<String, Book> BOOKS = Map.of("Dune", new Book("Dune", 1965));

  /** A book, or NOT_FOUND. */
  @RemoteMethod
  public Book find(String title) {
    Book book = BOOKS.get(title);
    if (book == null) {
      throw new StatusException(Code.NOT_FOUND, "no such book");
    }
    return book;
  }

  /** Books by title. */
  @RemoteMethod("byTitle")
  public Map<String, Book> getByTitles(List<String> titles) {
    return titles.stream().collect(Collectors.toMap(Function.identity(), this::find));
  }

  /** Is not served. */
  public String secret() {
    return "secret";
  }
}
