"""First imports in two threads at once, as two visitors of a fresh dashboard make them.

A thread that imports `package.part` holds the part's lock while it waits for the package's. Where
the package itself imports that part, a second thread that is importing the package then waits for
the first: Python breaks the deadlock by handing out half a module, and what was built on it stays
broken until the process ends.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.settings import ROOT

STARTED = {"streamlit", "starlette"}  # whole before the first page runs
LOOPS = """
import sys, threading, time

def load(name):
    try:
        __import__(name)
    except ImportError as error:
        failures.append(error)

failures = []
names = "core.pairs.loops", "core.pairs.loops"
threads = [threading.Thread(target=load, args=(name,)) for name in names]
for thread in threads:
    thread.start()
    time.sleep(float(sys.argv[1]))
for thread in threads:
    thread.join()
sys.exit(str(failures[0]) if failures else 0)
"""


@pytest.mark.slow
def test_a_package_is_imported_before_those_of_its_parts_that_it_imports_itself():
    found = dict(_parts_before_packages())
    with ThreadPoolExecutor(2) as processes:
        parts = set(found.values())
        imported = dict(zip(parts, processes.map(_imports_it, parts), strict=True))
    racy = {place: part for place, part in found.items() if imported[part]}
    assert racy == {}, "write `from package import part`, or import the package first"


@pytest.mark.parametrize(
    "seconds", ["0.05", *(pytest.param(one, marks=pytest.mark.slow) for one in ("0.02", "0.1"))]
)
def test_two_threads_load_compiled_loops_at_once(seconds):
    run = subprocess.run(
        [sys.executable, "-c", LOOPS, seconds], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


def _imports_it(part: str) -> bool:
    """Return whether a package imports this part of itself."""
    package = part.rpartition(".")[0]
    code = f"import sys, {package}; sys.exit({part!r} not in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not run.stderr, run.stderr
    return run.returncode == 0


def _parts_before_packages() -> Iterator[tuple[str, str]]:
    """Yield where a part of a package is imported and no import above names the package, and the
    part.
    """
    for path in sorted([*ROOT.glob("core/**/*.py"), *ROOT.glob("pages/**/*.py")]):
        seen: set[str] = set()
        for line, module in _imports(ast.parse(path.read_text())):
            names = module.split(".")
            packages = {".".join(names[:length]) for length in range(1, len(names))}
            ours = names[0] in {"core", "pages"} | STARTED | set(sys.stdlib_module_names)
            if packages and not ours and not packages & seen:
                yield f"{path.relative_to(ROOT)}:{line}", module
            seen.add(module)


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and module of every import that a file makes, in the order of the lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body.clear()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append((node.lineno, node.module))
        elif isinstance(node, ast.Import):
            found += [(node.lineno, each.name) for each in node.names]
    return iter(sorted(found))
