"""Command lines from config dataclasses: one field, one flag, its help taken from the class docstring."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from collections.abc import Sequence
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

ConfigT = TypeVar("ConfigT")


def field_help(config_class: type) -> dict[str, str]:
    """The text of each field in the ``Attributes:`` sections of the docstrings of a class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(config_class.__mro__):
        section = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
        entries = re.findall(r"^ {4}(\w+): (.*(?:\n {6,}.*)*)", section, re.M)
        found.update((name, " ".join(text.split())) for name, text in entries)
    return found


def parse_args(config_class: type[ConfigT], description: str, argv: Sequence[str] | None = None) -> ConfigT:
    """Read a config from the command line; every field is a flag ``--like-this``.

    Args:
        config_class: a dataclass whose fields have defaults and are str, int, float, bool, a Literal of str,
            or one of these or None.
        description: what the command does, for ``--help``.
        argv: the words; None for those of the process.

    Raises:
        SystemExit: ``--help``, or a flag that cannot be read (argparse says which).
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    hints, helps = get_type_hints(config_class), field_help(config_class)
    for field in dataclasses.fields(config_class):  # type: ignore[arg-type]
        flag, hint = "--" + field.name.replace("_", "-"), hints[field.name]
        options: dict[str, Any] = {"default": field.default, "help": helps[field.name].replace("%", "%%")}
        kinds = [k for k in get_args(hint) if k is not type(None)] if type(None) in get_args(hint) else [hint]
        if get_origin(hint) is not None and type(None) not in get_args(hint):
            options["choices"] = get_args(hint)
        elif kinds[0] is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options["type"] = kinds[0]
            options["metavar"] = kinds[0].__name__.upper()
        parser.add_argument(flag, **options)
    return config_class(**vars(parser.parse_args(argv)))
