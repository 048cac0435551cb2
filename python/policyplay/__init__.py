"""Carries out cases of policies (spec/vectors/policy), as go/internal/policyplay does."""

from __future__ import annotations
