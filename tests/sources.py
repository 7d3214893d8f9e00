"""The project's sources as syntax trees, and what the names in them mean by their imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from core.settings import ROOT

TOPS = ("core", "pages", "docs", "app.py", "setup.py")
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for top in TOPS
    for path in ([ROOT / top] if top.endswith(".py") else (ROOT / top).rglob("*.py"))
)


@cache
def read_tree(source: Path) -> ast.Module:
    """Return the tree of a file."""
    return ast.parse(source.read_text())


@cache
def imports_of(source: Path) -> dict[str, set[str]]:
    """Return by name all that a file imports under it, in full, be it within a function."""
    meant: dict[str, set[str]] = {}
    for node in ast.walk(read_tree(source)):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                meant.setdefault(one.asname or top, set()).add(one.name if one.asname else top)
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                meant.setdefault(one.asname or one.name, set()).add(f"{node.module}.{one.name}")
    return meant


def full_names(node: ast.AST, source: Path) -> set[str]:
    """Return what an expression such as `t.load` may mean: torch.load; itself where nothing is
    imported under its name, and nothing where it is no name.
    """
    if isinstance(node, ast.Attribute):
        return {f"{name}.{node.attr}" for name in full_names(node.value, source)}
    return imports_of(source).get(node.id, {node.id}) if isinstance(node, ast.Name) else set()


def names_in(node: ast.AST, source: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield every name within a part of a file, in full, with its place."""
    for part in ast.walk(node):
        for name in sorted(full_names(part, source)):
            yield name, part


@cache
def definitions_of(source: Path) -> dict[str, ast.stmt]:
    """Return by name what a module defines at its top."""
    defined: dict[str, ast.stmt] = {}
    for node in read_tree(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {one.id: node for one in targets if isinstance(one, ast.Name)}
    return defined


def module_of(source: str) -> str:
    """Return what a file is imported as."""
    return source.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def file_of(module: str) -> Path | None:
    """Return the file of a module of the project, None of any other."""
    return next((ROOT / one for one in SOURCES if module_of(one) == module), None)


@cache
def home_of(name: str) -> str:
    """Return the full name of what may be handed on by a package, as of where it is defined."""
    module, _, last = name.rpartition(".")
    path = file_of(module)
    if path is None or last in definitions_of(path):
        return name
    handed_on = imports_of(path).get(last, set()) - {name}
    return home_of(min(handed_on)) if handed_on else name
