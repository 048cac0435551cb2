"""One end of a connection without a connection: a session whose user acts at random, driven in lockstep over standard
input and output. conformance/random_sessions.py joins it with one of another language; conformance/peer.md, section 9,
has the commands, the configuration and the ledger."""
