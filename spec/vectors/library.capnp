# The schema of the messages in capnp.json. go/capnp has the same for capnpc-go.
@0xc9d1f5c5b9a1e6d7;

struct Book {
  title @0 :Text;
  pages @1 :Int32;
  cover @2 :Data;
}

struct Shelf {
  books @0 :List(Book);
  behind @1 :Shelf;
}
