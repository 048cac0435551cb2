"""What takes part in the conformance matrix: the service that the cases call (service), and the client that carries
cases out (client). conformance/cases/README.md describes the cases and the lines in which the client takes and answers
them."""
