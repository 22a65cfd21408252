"""Settings: each is declared once, as a field of a `Config` with its type, its range and its text.

From that come the check of every value, in Python and on command lines, and the options with their help. A
`Range` is the range of a number; the other ranges are those of texts. Every one says whether it contains a
value, and what was expected as text: "expected 1..4", "expected above 0, at most 1". A field that a subclass
gives another default keeps its range.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    NoReturn,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from tienlen_agents.quoting import split_list
from tienlen_env.errors import did_you_mean
from tienlen_env.texts import printable

NumberT = TypeVar("NumberT", int, float)
ConfigT = TypeVar("ConfigT", bound="Config")
ALLOWED: Final = "allowed"  # key of a field's metadata


class Allowed(Protocol):
    """The values that a setting may have; its text stands after "expected"."""

    def __contains__(self, value: object) -> bool:
        """Whether a setting may have the value."""


@dataclass(frozen=True)
class Range:
    """Finite numbers from `least` to `most`.

    Attributes:
        least: the smallest number.
        most: the largest number; None for no limit.
        above: `least` itself is not in the range.
        or_zero: 0 is in the range, too.
    """

    least: float
    most: float | None = None
    above: bool = False
    or_zero: bool = False

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.or_zero and value == 0:
            return True
        # False for NaN. An integer of any size is finite; isfinite() would convert it.
        is_large_enough = value > self.least if self.above else value >= self.least
        is_finite = isinstance(value, int) or math.isfinite(value)
        return is_large_enough and is_finite and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.above:
            text = f"above {self.least:g}" + ("" if self.most is None else f", at most {_number(self.most)}")
        elif self.most is None:
            text = f"{_number(self.least)} or more"
        else:
            text = f"{_number(self.least)}..{_number(self.most)}"
        return f"0, or {text}" if self.or_zero else text


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else f"{value:g}"


@dataclass(frozen=True)
class DivisorOf:
    """Divisors of a number.

    Attributes:
        number: the number.
    """

    number: int

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and value > 0 and self.number % value == 0

    def __str__(self) -> str:
        return f"a divisor of {self.number}"


@dataclass(frozen=True)
class Choice:
    """Some names.

    Attributes:
        names: called when a value is checked.
        separator: between several of them; empty if there may be only one.
    """

    names: Callable[[], Iterable[str]]
    separator: str = ""

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        return set(value.split(self.separator) if self.separator else [value]) <= set(self.names())

    def __str__(self) -> str:
        names = ", ".join(self.names())
        return (
            f"one of {names}" if not self.separator else f"some of {names}, separated by {self.separator!r}"
        )

    def guess(self, value: object) -> str:
        """The name that was meant by the first one that is not known, for a refusal."""
        words = str(value).split(self.separator) if self.separator else [str(value)]
        names = tuple(self.names())
        return did_you_mean(next((word for word in words if word not in names), value), names)


@dataclass(frozen=True)
class Pattern:
    """A text that a regular expression matches.

    Attributes:
        regex: the expression.
        what: what it is, for errors.
    """

    regex: str
    what: str

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and re.fullmatch(self.regex, value) is not None

    def __str__(self) -> str:
        return self.what


def several_files(text: str) -> list[str]:
    """The paths in a text that is a file's path, or several of them (`tienlen_agents.split_list`)."""
    try:
        return [text] if Path(text).is_file() else split_list(text)
    except OSError:  # too long for one path
        return split_list(text)


@dataclass(frozen=True)
class ExistingFile:
    """The path of a file that exists; several, separated by blanks, if `several`."""

    several: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, str) or "\0" in value:
            return False
        paths = several_files(value) if self.several else [value]
        try:
            return all(Path(path).is_file() for path in paths)
        except OSError:  # a name that is too long
            return False

    def __str__(self) -> str:
        return "files that exist, separated by blanks" if self.several else "a file that exists"


@dataclass(frozen=True)
class FreeText:
    """Any text, or what the code that reads it checks.

    Attributes:
        what: what it is, for errors.
    """

    what: str = "a text"

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and "\0" not in value

    def __str__(self) -> str:
        return self.what


TRUE_OR_FALSE: Final = Choice(lambda: ["True", "False"])

# Ranges that several configurations use.
COUNT: Final = Range(1)
COUNT_OR_NONE: Final = Range(0)
DEALS: Final = Range(2)  # one deal has no interval
SHARE: Final = Range(0, 1)


# ---------------------------------------------------------------- configurations


class ConfigError(ValueError):
    """A setting out of its range.

    Args:
        config: the name of the configuration's class.
        field: the setting.
        problem: what is wrong with it: "expected 0..3, got 9".
    """

    def __init__(self, config: str, field: str, problem: str) -> None:
        super().__init__(config, field, problem)
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        config, field, problem = self.args
        return f"{config}: {field}: {problem}"


def refusal(allowed: Allowed | None, value: object) -> str:
    """Why a value is refused: ``"expected 1..3, got 9"``, with the name that was meant if it is near."""
    return f"expected {allowed}, got {value!r}" + (
        allowed.guess(value) if isinstance(allowed, Choice) else ""
    )


class Setting(NamedTuple):
    """The values that a field may have.

    Attributes:
        kind: int, float, str or bool.
        allowed: its range.
        is_optional: None is allowed, too.
        words: of a Literal.
    """

    kind: Any
    allowed: Allowed | None
    is_optional: bool = False
    words: tuple[str, ...] = ()

    def __contains__(self, value: object) -> bool:
        if value is None or isinstance(value, bool):
            return self.is_optional if value is None else self.kind is bool
        # An integer is a valid value of a float field, as everywhere in Python.
        kind = (int, float) if self.kind is float else self.kind
        return isinstance(value, kind) and (self.allowed is None or value in self.allowed)


def setting(default: Any, allowed: Allowed) -> Any:
    """A field of a configuration, with its default and its range."""
    return dataclasses.field(default=default, metadata={ALLOWED: allowed})


def fixed(value: Any) -> Any:
    """A field of a base that cannot be set in a subclass, with its value there."""
    return dataclasses.field(default=value, init=False)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of all configurations: refuses values that are out of range.

    The fields are str, int, float, bool, a Literal of str, or one of them or None.

    Raises:
        ConfigError: it names the field and its range.
    """

    # The fields of a resumed run that may differ from the settings in its folder.
    may_change: ClassVar[frozenset[str]] = frozenset()
    # Of the options that ``--help`` shows after the others: a title, and their fields, separated by blanks.
    groups: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        """Compare every field with its type and its range."""
        for name, allowed in settings_of(type(self)).items():
            if getattr(self, name) not in allowed:
                problem = refusal(allowed.allowed, getattr(self, name))
                raise ConfigError(type(self).__name__, name, problem)

    def refuse(self, field: str, expected: str) -> None:
        """Raise the error of a field.

        Args:
            field: its name.
            expected: "expected 1..3".

        Raises:
            ConfigError: always.
        """
        raise ConfigError(type(self).__name__, field, f"{expected}, got {getattr(self, field)!r}")


def settings_of(config_class: type) -> dict[str, Setting]:
    """The fields of a configuration that can be set."""
    hints = get_type_hints(config_class)
    names = [field.name for field in dataclasses.fields(config_class) if field.init]
    return {name: _setting(hints[name], _range_of(config_class, name)) for name in names}


def _setting(hint: Any, allowed: Allowed | None) -> Setting:
    if get_origin(hint) is Literal:
        words = get_args(hint)
        return Setting(str, Choice(lambda: words), words=words)
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
    return Setting(kinds[0], TRUE_OR_FALSE if kinds[0] is bool else allowed, type(None) in get_args(hint))


def _range_of(config_class: type, field: str) -> Allowed | None:
    """The range of a field: of the class, or of the nearest base that has one."""
    for base in config_class.__mro__:
        found = base.__dict__.get("__dataclass_fields__", {}).get(field)
        if found is not None and ALLOWED in found.metadata:
            allowed: Allowed = found.metadata[ALLOWED]
            return allowed
    return None


# ---------------------------------------------------------------- command lines


def reader(kind: Callable[[str], NumberT], allowed: Allowed) -> Callable[[str], NumberT]:
    """The ``type`` of an argparse option: ``parser.add_argument("--deals", type=reader(int, Range(2)))``."""

    def read(text: str) -> NumberT:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or value not in allowed:
            raise argparse.ArgumentTypeError(refusal(allowed, text))
        return value

    return read


def field_help(config_class: type) -> dict[str, str]:
    """The text of each field in the ``Attributes:`` sections of the docstrings of a class and its bases.

    There are none with ``python -OO``.
    """
    found: dict[str, str] = {}
    for base in reversed(config_class.__mro__):
        section = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
        entries = re.findall(r"^ {4}(\w+): (.*(?:\n {6,}.*)*)", section, re.M)
        found.update((name, " ".join(text.split())) for name, text in entries)
    return found


def flag_of(field: str) -> str:
    """The option of a field: ``--like-this``."""
    return "--" + field.replace("_", "-")


def add_options(
    parser: argparse.ArgumentParser, config_class: type[Config], flags: Mapping[str, str] | None = None
) -> None:
    """An option for every field that can be set; options that are not given are not in the result.

    Args:
        parser: gets the options.
        config_class: the configuration.
        flags: the options of fields if not `flag_of`.
    """
    helps = field_help(config_class)
    defaults = {field.name: field.default for field in dataclasses.fields(config_class)}
    found_settings = settings_of(config_class)
    group_of = {
        name: group
        for title, names in config_class.groups.items()
        if found_settings.keys() & names.split()
        for group in [parser.add_argument_group(title)]
        for name in names.split()
    }
    for name, found in found_settings.items():
        about = [str(found.allowed)] if isinstance(found.allowed, Range | DivisorOf | Choice) else []
        about = [] if found.words or found.kind is bool else about
        default = defaults[name]
        about += [] if default is None or default is False or default == "" else [f"default: {default}"]
        text = helps.get(name, "").rstrip(".") + (f" ({'; '.join(about)})" if about else "")
        options: dict[str, Any] = {
            "dest": name,
            "default": argparse.SUPPRESS,
            "help": text.replace("%", "%%"),
        }
        if found.kind is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif found.words:
            options["choices"] = found.words
        else:
            options["type"] = reader(found.kind, found.allowed or FreeText())
            options["metavar"] = found.kind.__name__.upper()
        group_of.get(name, parser).add_argument((flags or {}).get(name) or flag_of(name), **options)


class Parser(argparse.ArgumentParser):
    """Of a command: its errors are one line, whatever a file's name or a stranger's text in them holds."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """See `argparse.ArgumentParser.exit`."""
        super().exit(status, message and printable(message.rstrip("\n")) + "\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # Of an option with choices, and of a command: argparse itself names no word that was meant.
        words = action.choices
        if words is not None and value not in words:
            raise argparse.ArgumentError(action, refusal(Choice(lambda: map(str, words)), value))


def parse_args(
    config_class: type[ConfigT],
    description: str | None,
    argv: Sequence[str] | None = None,
    *,
    defaults_of: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {},
) -> ConfigT:
    """Read a config from the command line; every field is an option ``--like-this``.

    Args:
        config_class: a dataclass whose fields have defaults.
        description: of the command; ``--help`` shows its first paragraph. None: there are no docstrings.
        argv: the arguments; None for those of the process.
        defaults_of: the values of fields that take the place of their defaults, from the fields that are
            given.

    Raises:
        SystemExit: ``--help``, or an option that cannot be read or is out of its range (argparse names it).
    """
    parser = Parser(description=(description or "").partition("\n\n")[0])
    add_options(parser, config_class)
    given = vars(parser.parse_args(argv))
    return make_config(parser, config_class, {**defaults_of(given), **given})


def make_config(
    parser: argparse.ArgumentParser,
    config_class: type[ConfigT],
    values: Mapping[str, Any],
    flags: Mapping[str, str] | None = None,
) -> ConfigT:
    """A configuration from values; what it refuses is an error of the parser."""
    try:
        return config_class(**values)
    except ConfigError as error:
        flag = (flags or {}).get(error.field) or flag_of(error.field)
        parser.error(f"argument {flag}: {error.problem}")
    except ValueError as error:
        parser.error(str(error))
