"""Carries the cases of conformance/cases out: each client with each server over each transport; see cases/README.md.

python -m conformance.runner            all, and fails if matrix.md is not what they give
python -m conformance.runner --write    all, and writes matrix.md
python -m conformance.runner --only streams/bidi-in-turn --client go --server python --transport tcp
"""
