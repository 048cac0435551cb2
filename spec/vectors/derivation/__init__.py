"""The cases behind the vectors, an encoder and a reader: all written from protocol.md, none from an implementation."""
