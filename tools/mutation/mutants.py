"""The mutants of a module: its source with one comparison, constant or statement changed."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

OPPOSITE: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
DELETED: Final = (
    ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Return, ast.Raise,
    ast.With, ast.Break, ast.Continue,
)  # fmt: skip
NOT_CODE: Final = {"annotation", "returns"}  # fields of nodes that do not run


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        index: the number of the node in the order of `nodes`.
        line: of the node, from 1.
        source: that line, without blanks around it.
        change: in words, with the column of the node.
        in_function: the node is in the body of a function.
    """

    index: int
    line: int
    source: str
    change: str
    in_function: bool

    @property
    def name(self) -> str:
        """The same while the line is the same, wherever it stands."""
        return f"{self.source} | {self.change}"


def nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, bool]]:
    """All nodes that run, each with its parent, and whether it is in the body of a function."""

    def walk(parent: ast.AST, inside: bool) -> Iterator[tuple[ast.AST, ast.AST, bool]]:
        for field, value in ast.iter_fields(parent):
            if field in NOT_CODE:
                continue
            is_function = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            is_inside = inside or (is_function and field == "body")
            for node in value if isinstance(value, list) else [value]:
                if isinstance(node, ast.AST):
                    yield node, parent, is_inside
                    yield from walk(node, is_inside)

    yield from walk(tree, False)


def changes(node: ast.AST, parent: ast.AST) -> Iterator[tuple[str, Any]]:
    """The changes of a node: words, and the function that makes it of a copy of the node."""
    if isinstance(node, ast.Compare):
        for i, old in enumerate(node.ops):
            new = OPPOSITE[type(old)]

            def other(copied: Any, i: int = i, new: Any = new) -> Any:
                copied.ops[i] = new()
                return copied

            yield f"{type(old).__name__} -> {new.__name__}", other
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for by in (1, -1):

            def moved(copied: Any, by: int = by) -> Any:
                copied.value += by
                return copied

            yield f"{node.value!r} -> {node.value + by!r}", moved
    elif isinstance(node, DELETED):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return
        yield "deleted", lambda copied: ast.copy_location(ast.Pass(), copied)


def mutants_of(source: str) -> list[Mutant]:
    """All mutants of a module."""
    lines, found = source.splitlines(), []
    for index, (node, parent, inside) in enumerate(nodes(ast.parse(source))):
        for change, _ in changes(node, parent):
            at, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
            found.append(Mutant(index, at, lines[at - 1].strip(), f"{change} at {column}", inside))
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The tree of the module with the change."""
    tree = ast.parse(source)
    for index, (node, parent, _) in enumerate(nodes(tree)):
        if index != mutant.index:
            continue
        for change, make in changes(node, parent):
            if f"{change} at {node.col_offset}" != mutant.change:  # type: ignore[attr-defined]
                continue
            new = make(copy.deepcopy(node))
            for field, value in ast.iter_fields(parent):
                if value is node:
                    setattr(parent, field, new)
                elif isinstance(value, list) and any(item is node for item in value):
                    value[:] = [new if item is node else item for item in value]
            return tree
    raise ValueError(f"no such mutant: {mutant.name}")
