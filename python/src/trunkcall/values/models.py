"""Models and dataclasses of pydantic, which is not imported for them."""

# It is known by what its classes have:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .faults import UNTAKEN, Refused

_OWN_WORDS = ("value_error", "assertion_error")  # errors whose text is not pydantic's but that of the class


def is_model(kind: Any) -> bool:
    """Whether pydantic reads values of a class."""
    return isinstance(getattr(kind, "__pydantic_fields__", None), dict)


def fields_of(kind: Any) -> dict[str, Any]:
    """Its fields by the names of their members."""
    found: dict[str, Any] = kind.__pydantic_fields__
    return found


def _config(kind: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None) or {}
    return found


def forbids(kind: Any) -> bool:
    """Whether it refuses members that it has no field for."""
    return _config(kind).get("extra") == "forbid"


def public_alias(field: Any) -> str | None:
    """The one name that a field is given; None: none. Raises TypeError for a field that has several."""
    names: list[Any] = []
    for alias in (field.alias, field.validation_alias, field.serialization_alias):
        if alias is not None and alias not in names:
            names.append(alias)
    if not names:
        return None
    if len(names) > 1 or not isinstance(names[0], str):
        given = ", ".join(repr(one) for one in names)
        raise TypeError(f"it has the aliases {given}, and can travel by one name: give it one alias=")
    return names[0]


def maker_of(kind: Any) -> Callable[..., Any]:
    """What makes an object of the values of its fields by their members' names. Raises Refused for those that the
    class refuses."""
    config = _config(kind)
    by_member = bool(config.get("populate_by_name") or config.get("validate_by_name"))
    keys = {member: member if by_member else _key(member, field) for member, field in fields_of(kind).items()}
    members = {key: member for member, key in keys.items()}

    def make(**values: Any) -> Any:
        try:
            return kind(**{keys[member]: value for member, value in values.items()})
        except ValueError as error:
            errors: Callable[..., Any] | None = getattr(error, "errors", None)
            if errors is None:
                raise
            raise _refused(errors(include_url=False, include_context=False)[0], members) from None

    return make


def _key(member: str, field: Any) -> str:
    """What pydantic takes the field by."""
    return field.validation_alias if isinstance(field.validation_alias, str) else member


def _refused(error: Mapping[str, Any], members: Mapping[str, str]) -> Refused:
    text = str(error["msg"])
    if error["type"] in _OWN_WORDS and _quotes(text, error.get("input")):
        text = UNTAKEN
    at = [*error["loc"]]
    member = members.get(str(at[0])) if at else None
    inside = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at[1:])
    return Refused(member, inside, text)


def _quotes(text: str, came: Any) -> bool:
    """Whether a class's own text has the value, or one of its parts."""
    if isinstance(came, Mapping):
        return any(_quotes(text, one) for one in came.values())
    if isinstance(came, list | tuple | set | frozenset):
        return any(_quotes(text, one) for one in came)
    if isinstance(came, bytes):
        return repr(came)[2:-1] in text
    return came is not None and not isinstance(came, bool) and str(came) != "" and str(came) in text
