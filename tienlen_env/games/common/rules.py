"""The base of all rules: how fields are read and checked, and the digest of a variant."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, fields
from functools import cache, cached_property
from operator import index
from types import MappingProxyType
from typing import Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from tienlen_env.errors import RulesError, check_word

RulesT = TypeVar("RulesT")


class RulesBase:
    """The base of a game's rules, a frozen dataclass whose values are JSON data.

    A field that a later version adds carries ``metadata={"added": True}``: the digest leaves it out while it
    has its default, so the digests of older variants do not change.
    """

    def digest(self) -> str:
        """16 hex digits that name this variant in records, checkpoints and results."""
        return self._digest

    def flat(self) -> dict[str, object]:
        """All fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

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


# What must hold in rules: a field; what is wrong in it, True for its whole value, or a part of it, or a false
# value; and what is expected. The message of a refusal says it, and the page of the rules.
Constraint = tuple[str, Callable[[RulesT], object], str]
Constraints = tuple[Constraint[RulesT], ...]


def within(field: str, least: int, most: int) -> Constraint[object]:
    """The constraint of an integer from `least` to `most`."""
    return field, lambda rules: not least <= getattr(rules, field) <= most, f"expected {least}..{most}"


def check(values: Mapping[str, object], rules: RulesT, constraints: Constraints[RulesT]) -> None:
    """Refuse rules in which something is wrong.

    Args:
        values: the fields of the rules by name.
        rules: the rules.
        constraints: what must hold in them.

    Raises:
        RulesError: it names the field, its value or the part that is wrong, and what is expected.
    """
    for field, wrong, expected in constraints:
        if found := wrong(rules):
            shown = f"{field}={values[field]!r}" if found is True else f"{field}: {found}"
            raise RulesError(f"{shown}: {expected}")


# ---------------------------------------------------------------- reading fields


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


def as_bool(field: str, value: object) -> bool:
    """The value of a field that is True or False.

    Raises:
        RulesError: it is neither; it names the field.
    """
    if not isinstance(value, bool):
        raise RulesError(f"{field}={value!r}: expected True or False")
    return value


Readers = Mapping[object, Callable[[str, object], object]]  # by the type of a field
_READERS: Final[Readers] = MappingProxyType({bool: as_bool, int: as_int})


def read_fields(rules: object, readers: Readers = _READERS) -> None:
    """Put every field of a frozen dataclass into the form of its type.

    Args:
        rules: the dataclass.
        readers: what reads the fields of a type. Those of a `Literal` must be one of its words; fields of
            other types stay as they are.

    Raises:
        RulesError: a value that cannot be read; it names the field.
    """
    for name, hint in _types_of(type(rules)).items():  # type: ignore[arg-type]  # classes are hashable
        if get_origin(hint) is Literal:
            check_word(name, getattr(rules, name), get_args(hint), error=RulesError)
        elif hint in readers:
            object.__setattr__(rules, name, readers[hint](name, getattr(rules, name)))


@cache
def _types_of(kind: Hashable) -> dict[str, object]:
    return get_type_hints(kind)
