package io.trunkcall.codefirst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.ClientInterceptor;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.ServerBuilder;
import io.trunkcall.ServerInterceptor;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.scanned.Book;
import io.trunkcall.codefirst.scanned.BookClient;
import io.trunkcall.codefirst.scanned.Library;
import io.trunkcall.codefirst.scanned.NoTarget;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Services and clients that are found, published and called over a port. */
class ServiceCentreTest {
  private static final String SCANNED = "io.trunkcall.codefirst.scanned";

  private static ServiceCentre.Builder centre() {
    return ServiceCentre.builder().listen("127.0.0.1:0");
  }

  private static RemoteClients clients(ServiceCentre centre) {
    return clients(centre, BookClient.class);
  }

  private static RemoteClients clients(ServiceCentre centre, Class<?> type) {
    return RemoteClients.builder()
        .add(type)
        .target("library", "127.0.0.1:" + centre.ports().get(0))
        .build();
  }

  @Test
  void whatAScanFindsIsServedAndCalled() throws Exception {
    try (ServiceCentre centre = centre().scan(SCANNED).build()) {
      assertEquals(
          Map.of("library", List.of("byTitle", "find"), "greeting", List.of("greet")),
          centre.services());
      assertEquals(List.of(), centre.ports());
      centre.start();
      try (RemoteClients clients = clients(centre)) {
        BookClient library = clients.get(BookClient.class);
        assertSame(library, clients.get(BookClient.class));
        assertEquals(new Book("Dune", 1965), library.find("Dune"));
        CompletableFuture<Map<String, Book>> found = library.all(List.of("Dune"));
        assertEquals(Map.of("Dune", new Book("Dune", 1965)), found.get());
        CompletableFuture<String> called = new CompletableFuture<>();
        library.find("none", (book, failure) -> called.complete(failure.code() + "/" + book));
        assertEquals("NOT_FOUND/null", called.get());
      }
    }
  }

  /** Answers later, or never. */
  @RemoteService("library")
  public static final class Later {
    final CompletableFuture<String> began = new CompletableFuture<>();
    final CompletableFuture<String> answer = new CompletableFuture<>();

    /** Begins to answer. */
    @RemoteMethod
    public CompletableFuture<String> later() {
      began.complete("");
      return answer;
    }
  }

  @RemoteClient(service = "library")
  interface Waiting {
    CompletableFuture<String> later();
  }

  @Test
  void theFutureThatAMethodReturnedIsCancelledWithItsCall() throws Exception {
    Later service = new Later();
    try (ServiceCentre centre = centre().publish(service).build().start();
        RemoteClients clients = clients(centre, Waiting.class)) {
      CompletableFuture<String> said = clients.get(Waiting.class).later();
      service.began.get(30, TimeUnit.SECONDS);
      said.cancel(true);
      assertThrows(CancellationException.class, () -> service.answer.get(30, TimeUnit.SECONDS));
    }
  }

  /** Calls members of the library's class by their own names. */
  @RemoteClient(service = "library")
  interface Snooping {
    Map<String, Book> getByTitles(List<String> titles);

    String secret();
  }

  @Test
  void whatIsNotAnnotatedCannotBeReached() throws Exception {
    try (ServiceCentre centre = centre().publish(new Library()).build().start();
        RemoteClients clients = clients(centre, Snooping.class)) {
      Snooping library = clients.get(Snooping.class);
      StatusException refused = assertThrows(StatusException.class, library::secret);
      assertEquals(Code.UNIMPLEMENTED, refused.code());
      refused = assertThrows(StatusException.class, () -> library.getByTitles(List.of()));
      assertEquals(Code.UNIMPLEMENTED, refused.code());
    }
  }

  @Test
  void aCentreIsStoppedAndStartedAgain() throws IOException {
    ServiceCentre centre = centre().publish(new Library()).build();
    centre.start();
    assertThrows(IllegalStateException.class, centre::start);
    assertTrue(centre.ports().get(0) > 0);
    assertTrue(centre.stop());
    assertEquals(List.of(), centre.addresses());
    assertNull(centre.server());
    centre.start();
    try (RemoteClients clients = clients(centre)) {
      assertEquals("Dune", clients.get(BookClient.class).find("Dune").title());
    }
    centre.close();
  }

  /** Stops the centre that serves it. */
  @RemoteService("library")
  public static final class Stopping {
    private final CompletableFuture<ServiceCentre> centre = new CompletableFuture<>();

    /** What becomes of that. */
    @RemoteMethod
    public String stop() {
      return assertThrows(IllegalStateException.class, () -> centre.join().stop()).getMessage();
    }
  }

  @RemoteClient(service = "library")
  interface Stopper {
    String stop();
  }

  @Test
  void aCentreThatCannotBeStoppedHereCanBeStoppedElsewhere() throws IOException {
    Stopping service = new Stopping();
    ServiceCentre centre = centre().publish(service).build().start();
    try (centre;
        RemoteClients clients = clients(centre, Stopper.class)) {
      service.centre.complete(centre);
      String told = clients.get(Stopper.class).stop();
      assertTrue(told.contains("leave that to another thread"), told);
      assertThrows(IllegalArgumentException.class, () -> centre.stop(Duration.ofSeconds(-1)));
      assertTrue(centre.ports().get(0) > 0, "it runs on");
    }
    assertNull(centre.server());
  }

  @Test
  void aServiceIsPublishedWhileTheCentreRuns() throws IOException {
    try (ServiceCentre centre = centre().build().start()) {
      centre.publish(new Library());
      try (RemoteClients clients = clients(centre)) {
        assertEquals("Dune", clients.get(BookClient.class).find("Dune").title());
      }
    }
  }

  @Test
  void interceptorsSeeAndReplaceArgumentsAndResults() throws IOException {
    ServerInterceptor atServer =
        (call, next) -> {
          Arguments arguments = (Arguments) call.request();
          assertThrows(IllegalArgumentException.class, () -> arguments.set(0, 1));
          if (arguments.get(0).equals("cached")) {
            return CompletableFuture.completedFuture(Results.of(new Book("cached", 1)));
          }
          arguments.set(0, "Dune");
          return next.proceed(call);
        };
    ClientInterceptor atClient =
        (call, next) -> {
          if (((Arguments) call.request()).get(0).equals("local")) {
            return CompletableFuture.completedFuture(Results.of("no book"));
          }
          return next.proceed(call)
              .thenApply(
                  message -> {
                    Results results = (Results) message;
                    Book book = (Book) results.get(0);
                    results.set(0, new Book(book.title() + "!", book.year()));
                    return results;
                  });
        };
    try (ServiceCentre centre =
            centre()
                .publish(new Library())
                .server(builder -> builder.serverInterceptor(atServer))
                .build()
                .start();
        RemoteClients clients =
            RemoteClients.builder()
                .add(BookClient.class)
                .target("library", "127.0.0.1:" + centre.ports().get(0))
                .client((target, builder) -> builder.clientInterceptor(atClient))
                .build()) {
      BookClient library = clients.get(BookClient.class);
      assertEquals(new Book("Dune!", 1965), library.find("anything"));
      assertEquals(new Book("cached!", 1), library.find("cached"));
      StatusException failed = assertThrows(StatusException.class, () -> library.find("local"));
      assertEquals(Code.INTERNAL, failed.code());
    }
  }

  @Test
  void aStrictServerRefusesFieldsThatItDoesNotKnow() throws IOException {
    try (ServiceCentre centre =
            centre().publish(new Shelf()).server(ServerBuilder::strictJson).build().start();
        RemoteClients clients =
            RemoteClients.builder()
                .add(LooseShelf.class)
                .target("shelf", "127.0.0.1:" + centre.ports().get(0))
                .build()) {
      LooseShelf shelf = clients.get(LooseShelf.class);
      assertEquals(1965, shelf.put(Map.of("title", "Dune", "year", 1965)));
      StatusException refused =
          assertThrows(StatusException.class, () -> shelf.put(Map.of("colour", "red")));
      assertEquals(Code.INVALID_ARGUMENT, refused.code());
      assertEquals(Delivery.REFUSED, refused.status().delivery());
      assertEquals(
          "parameter 1 of /shelf/put: there is no field \"colour\"", refused.status().message());
    }
  }

  @RemoteService
  static class Shelf {
    @RemoteMethod
    public int put(Book book) {
      return book.year();
    }
  }

  @RemoteClient(service = "shelf")
  @CallPolicy(codec = CallPolicy.CarriedAs.JSON)
  interface LooseShelf {
    int put(Map<String, Object> book);
  }

  @Test
  void oneMethodIsPublishedOnce() {
    ServiceCentre.Builder twice = centre().publish(new Library(), new Library());
    Exception refused = assertThrows(IllegalArgumentException.class, twice::build);
    assertTrue(refused.getMessage().contains("is published by"), refused.getMessage());
    assertTrue(refused.getMessage().contains(Library.class.getName()), refused.getMessage());
  }

  @Test
  void aMissingTargetIsRefusedByItsInterface() {
    RemoteClients.Builder missing = RemoteClients.builder().scan(SCANNED);
    Exception refused = assertThrows(IllegalArgumentException.class, missing::build);
    assertTrue(
        refused.getMessage().startsWith(NoTarget.class.getName() + ": it says no target"),
        refused.getMessage());
    assertTrue(
        refused.getMessage().contains(": want @RemoteClient(target = "), refused.getMessage());
  }

  @Test
  void aTargetThatIsNoneIsRefusedByItsInterface() {
    RemoteClients.Builder wrong =
        RemoteClients.builder().add(BookClient.class).target("library", "localhost");
    Exception refused = assertThrows(IllegalArgumentException.class, wrong::build);
    assertTrue(
        refused
            .getMessage()
            .startsWith(BookClient.class.getName() + ": target \"localhost\": it has no port"),
        refused.getMessage());
  }

  @Test
  void aClassAmongTheInterfacesIsRefusedAsSuch() {
    RemoteClients.Builder wrong = RemoteClients.builder().add(Library.class);
    Exception refused = assertThrows(IllegalArgumentException.class, wrong::build);
    assertEquals(
        Library.class.getName() + " is no interface, but a class: want the interface to call",
        refused.getMessage());
  }

  @Test
  void packagesInWhichNothingIsAnnotatedAreRefused() {
    ServiceCentre.Builder nothing = centre().scan("io.trunkcall.nowhere");
    Exception refused = assertThrows(IllegalArgumentException.class, nothing::build);
    assertTrue(refused.getMessage().contains("io.trunkcall.nowhere"), refused.getMessage());
  }
}
