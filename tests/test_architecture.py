"""Architecture rules: imports only go to lower layers, without a cycle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from core.settings import ROOT

LAYERS = (  # lowest first; a package imports those of lower layers alone
    ("core.errors", "core.visible"),
    ("core.machine", "core.options"),
    (
        "core.files",
        "core.settings",
        "core.progress",
        "core.recipe",
        "core.modalities",
        "core.unexpected",
    ),
    ("core.hub", "core.crew"),
    ("core.stimuli", "core.spaces"),
    ("core.encoders", "core.pairs", "core.cave"),
    ("core.store", "core.metrics"),
    ("core.embedding", "core.statistics"),
    ("core.competence",),
    ("core.networks",),
    ("core.cave.training",),
    ("core.study",),
    ("core.figures",),
    ("core.questions",),
    ("core.theory",),
    ("core.cave.demo", "core.jobs"),
    ("core.plans",),
    ("core.cli", "platoscope", "pages"),
    ("app", "core.__main__"),
)
TOPS = ("core", "platoscope", "pages")
SOURCES = [path for top in TOPS for path in (ROOT / top).rglob("*.py")]
SOURCES += [ROOT / "app.py"]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in SOURCES}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


@cache
def imports_of(module: str) -> frozenset[str]:
    """Return what a module imports when it runs, as modules where they are ours."""
    return frozenset(_imports(tree_of(module)))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        full = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (each if each in MODULES else str(node.module) for each in full)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


LAYER_OF: Mapping[str, int] = {package: at for at, layer in enumerate(LAYERS) for package in layer}


def package_of(module: str) -> str:
    """Return the package of one of our modules: core.store of core.store.reader, pages of a page;
    the innermost where one package lies in another.
    """
    parts = module.split(".")
    names = [".".join(parts[:depth]) for depth in range(len(parts), 0, -1)]
    return next((name for name in names if name in LAYER_OF), ".".join(parts[:2]))


def ours(module: str) -> bool:
    return module.split(".")[0] in ("core", "platoscope", "pages", "app") and module != "core"


def test_a_package_imports_only_what_lies_below():
    upward = {
        f"{module} imports {other}"
        for module in MODULES
        if ours(module)
        for package in [package_of(module)]
        for other in filter(ours, imports_of(module))
        if package_of(other) != package and LAYER_OF[package_of(other)] >= LAYER_OF[package]
    }
    assert upward == set()


def circle_of(graph: dict[str, set[str]]) -> list[str]:
    """Return modules each of which imports the one before it, the last being the first; none
    if there is no circle.
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_in_a_circle():
    graph = {
        module: {each for each in imports_of(module) if each in MODULES and each != module}
        for module in MODULES
    }
    assert circle_of(graph) == []


@pytest.mark.parametrize(
    ("library", "packages"),
    [
        ("streamlit", {"app", "pages"}),
        ("duckdb", {"core.store"}),
        ("playwright", set()),
        ("pytest", set()),
    ],
)
def test_a_library_is_imported_in_its_packages_alone(library, packages):
    users = {
        package_of(module)
        for module in MODULES
        if library in {each.split(".")[0] for each in imports_of(module)}
    }
    assert users <= packages
