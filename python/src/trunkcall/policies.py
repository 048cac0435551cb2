"""Policies: what holds for the calls of a method, unless a call says something else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from .checking import check_flags, check_text, check_timeout, listed_option, wrong_type

if TYPE_CHECKING:
    from .governance import Rules
    from .policyfile import PolicyFile


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for the calls of a method, "/package.Service/Method", for those of a service, "/package.Service/", or
    for all, "". For each field the most specific policy that sets it counts; the options of the call win over all. None
    sets nothing."""

    method: str = ""
    timeout: float | None = None  # seconds; of streaming calls only if the policy names the method. math.inf: none
    wait_for_ready: bool | None = None  # wait for a connection until the deadline, or fail when none can be had
    repeat: bool | None = None  # whether a call that provably was not run is made once more (spec/client.md 2)


NOTHING = Policy()
_FORM = re.compile(r"(/[^/]+/[^/]*)?")
_REMEMBERED = 4_096  # methods whose policy is kept once it was put together


class Policies:
    """The policies of a client, by method (client.md 11)."""

    def __init__(self, policies: Iterable[Policy] = (), timeout: float | None = None) -> None:
        """`timeout` is the client's own: that of a policy for all. Raises ValueError, TypeError."""
        self._given: dict[str, Policy] = {}
        for policy in listed_option("policies", policies, "Policy(…)"):
            self._add(policy)
        every = self._given.get("", NOTHING)
        if timeout is not None:
            if every.timeout is not None:
                raise ValueError("there is a timeout of the client and one of a policy for all methods")
            check_timeout("timeout", timeout)
            self._given[""] = replace(every, timeout=timeout)
        self._found: dict[str, Policy] = {}

    def _add(self, policy: Policy) -> None:
        if not isinstance(policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong_type("policies", policy, "a list of Policy(…)")
        check_text(none=False, **{"policies: method": policy.method})
        name, of = policy.method, f"policy of {policy.method or 'all methods'}"
        if not _FORM.fullmatch(name):
            raise ValueError(f"{of}: want /package.Service/Method, /package.Service/ or nothing")
        if name in self._given:
            raise ValueError(f"{of}: there are two")
        if replace(policy, method="") == NOTHING:
            raise ValueError(f"{of}: it says nothing")
        check_timeout(f"policies: {of}: timeout", policy.timeout)
        for flag in ("wait_for_ready", "repeat"):
            check_flags(none=True, **{f"policies: {of}: {flag}": getattr(policy, flag)})
        self._given[name] = policy

    def __bool__(self) -> bool:
        return bool(self._given)

    @property
    def quick(self) -> bool:
        """Whether there is nothing to look up for a call: at most a timeout for all."""
        return all(not name and replace(policy, timeout=None) == NOTHING for name, policy in self._given.items())

    file: PolicyFile | None = None
    """That says them."""

    @property
    def timeout(self) -> float | None:
        """That for all unary calls."""
        return self._given.get("", NOTHING).timeout

    def of(self, name: str) -> Policy:
        """What holds for the calls of a method that is not streaming."""
        if not self._given:
            return NOTHING
        found = self._found.get(name)
        if found is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            found = self._found[name] = self._merged(name)
        return found

    def of_stream(self, name: str) -> float | None:
        """The timeout of a streaming method: only a policy that names it has one."""
        return self._given.get(name, NOTHING).timeout

    def rules(self, name: str) -> Rules | None:
        """What a policy file says of a method; None without one."""
        return None

    def _merged(self, name: str) -> Policy:
        merged = Policy(name)
        for scope in (name, name[: name.rfind("/") + 1], ""):
            policy = self._given.get(scope, NOTHING)
            for one in fields(policy):
                if getattr(merged, one.name) is None:
                    merged = replace(merged, **{one.name: getattr(policy, one.name)})
        return merged


NO_POLICIES = Policies()
