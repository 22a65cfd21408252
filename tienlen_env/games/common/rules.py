"""The base of all rules: checks of fields, and the digest of a variant."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from functools import cached_property
from operator import index

from tienlen_env.errors import RulesError


class RulesBase:
    """The base of a game's rules, a frozen dataclass whose values are JSON data.

    A field that a later version adds carries ``metadata={"added": True}``: the digest leaves it out while it
    has its default, so the digests of older variants do not change.
    """

    def digest(self) -> str:
        """16 hex digits that name this variant in records, checkpoints and results."""
        return self._digest

    def settings(self) -> dict[str, object]:
        """The fields by name, without those that were added later and have their defaults."""
        values: dict[str, object] = asdict(self)  # type: ignore[call-overload]  # a dataclass, as every subclass is
        for field in fields(self):  # type: ignore[arg-type]
            if field.metadata.get("added") and getattr(self, field.name) == field.default:
                del values[field.name]
        return values

    @cached_property
    def _digest(self) -> str:  # networks check it at every decision
        text = json.dumps(self.settings(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def as_int(field: str, value: object) -> int:
    """The value of an integer field.

    Raises:
        RulesError: it is not an integer; it names the field.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise RulesError(f"{field}={value!r}: expected an integer") from None


def as_ints(field: str, values: object) -> tuple[int, ...]:
    """The values of a field of integers.

    Raises:
        RulesError: they are not integers; it names the field.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise RulesError(f"{field}={values!r}: expected integers")
    return tuple(as_int(field, v) for v in values)
