"""Carries the cases of conformance/cases out with stock clients, at the other doors of a server in Go; see README.md.

    python -m conformance.stock            all that is there, and fails if matrix.md is not what they give
    python -m conformance.stock --write    all, and writes matrix.md
    python -m conformance.stock --only unary/ --client grpc-js --transport tls
"""
