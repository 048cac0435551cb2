"""What the tests of all languages, the lab and `make run` share. It imports from none of them.

`languages` are the languages there are, of languages/*.toml, and `prerequisites` what they need of the machine;
`processes` starts and ends processes, `guard` ends those whose starter was killed, and `interrupts` has signals end
them too; `durations` are times as commands take them: all in the standard library alone.
`programs` are the reference programs as commands, `certificates` what their TLS takes: both for an environment of the
project (build/python).
"""
