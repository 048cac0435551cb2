"""The reference program of the Python implementation: serves the example and benchmark services, calls any of their
methods, and measures.

Every language has one with the same commands and the same output, which is what tests across languages and benchmarks
drive. `build/peer-python` runs it, `build/peer-python help` says how.

In reading order: `program` the command line; `serve` with `users`, `native`, `stock` and `log`; `call` with `method`,
`jsonform` and `details`; `bench` with `workload`. `flags`, `loop`, `target` and `security` are there for all of them.
"""
