# A small schema for the tests of package capnp: a struct with a list of structs,
# and one that refers to itself, to any depth.
@0xc9d1f5c5b9a1e6d7;

using Go = import "/go.capnp";
$Go.package("library");
$Go.import("github.com/trunkcall/trunkcall/go/capnp/internal/library");

struct Book {
  title @0 :Text;
  pages @1 :Int32;
  cover @2 :Data;
}

struct Shelf {
  books @0 :List(Book);
  behind @1 :Shelf;
}
