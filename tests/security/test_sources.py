"""What SECURITY.md says of the sources: nothing that is read runs code, and no value is SQL."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import ROOT
from tests.sources import SOURCES, full_names, names_in, read_tree

RUNS_CODE = {  # what runs a text or a file as code, and pickles, which do
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "subprocess.getoutput"),
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "dill.load", "dill.loads"),
    *("cloudpickle.load", "cloudpickle.loads", "joblib.load", "shelve.open", "marshal.loads"),
    *("pandas.read_pickle", "yaml.load", "yaml.unsafe_load", "yaml.full_load"),
    *("torch.hub.load", "torch.jit.load", "runpy.run_path", "importlib.import_module"),
}
OWN_MODULES = {  # by module: what it imports by name, a part of this project or of what it needs
    "core/cli/__init__.py": ["f'core.cli.{module}'"],
    "core/machine/compiling.py": ["'umap'"],  # late: it takes seconds
    "core/stimuli/worlds.py": ["_MODULES[kind]"],  # which lies above it
    "core/questions/topics.py": ["f'core.{name}'"],
    "pages/theory.py": ["f\"pages._parts.theory.{tab.replace('-', '_')}\""],
}
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|ATTACH|PRAGMA|COPY)\b")
IDENTIFIERS = {  # by module: what is within its SQL, all of it names of this project's own
    "core/jobs/queue.py": {"IS_UNFINISHED", "SCHEMA", "where"},
    "core/store/reader.py": {"table", "order"},
    "core/store/files.py": {"ORDER", "name"},
    "core/store/writer.py": {"name"},
}


def calls_of(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of a module with what is called, in full."""
    path = ROOT / source
    for node in ast.walk(read_tree(path)):
        if isinstance(node, ast.Call):
            for name in full_names(node.func, path):
                yield name, node


def option(call: ast.Call, name: str) -> object:
    """Return the value of an option that is written out; the node of any other, None without."""
    node = next((one.value for one in call.keywords if one.arg == name), None)
    return node.value if isinstance(node, ast.Constant) else node


def every_call() -> Iterator[tuple[str, ast.Call, str]]:
    """Yield every call of the project: what is called, how, and where."""
    for source in SOURCES:
        for name, call in calls_of(source):
            yield name, call, f"{source}:{call.lineno}"


def runs_code(path: Path) -> list[str]:
    """Return what of a module would run a text or a file as code."""
    return [name for name, _ in names_in(read_tree(path), path) if name in RUNS_CODE]


def test_nothing_runs_a_text_as_code():
    found = {source: runs_code(ROOT / source) for source in SOURCES}
    named = {source: names for source, names in found.items() if names}
    own = {source: ["importlib.import_module"] for source in OWN_MODULES}
    assert named == own | {"setup.py": ["runpy.run_path"]}  # core/cave/weights.py, before a wheel
    assert [place for _, call, place in every_call() if option(call, "shell")] == []


@pytest.mark.parametrize("source", OWN_MODULES)
def test_modules_that_are_imported_by_name_are_our_own(source):
    calls = [call for name, call in calls_of(source) if name == "importlib.import_module"]
    assert [ast.unparse(one) for call in calls for one in call.args] == OWN_MODULES[source]


@pytest.mark.parametrize(
    "text",
    [
        "from pickle import load as read; read(file)",
        "import pickle as p; read = p.load",
        "from torch import hub; hub.load(name)",
        "eval(text)",
    ],
)
def test_what_runs_code_is_found_under_every_name(tmp_path, text):
    (tmp_path / "one.py").write_text(text)
    assert len(runs_code(tmp_path / "one.py")) == 1


def test_files_of_others_are_read_as_data():
    seen = set()
    for name, call, place in every_call():
        if name == "torch.load":
            assert option(call, "weights_only") is True, place
        if name == "numpy.load":
            assert option(call, "allow_pickle") in (None, False), place  # NumPy's default is False
        if option(call, "trust_remote_code") is not None:
            assert option(call, "trust_remote_code") is False, place
        seen |= {name} & {"torch.load", "numpy.load"}
    assert seen == {"torch.load", "numpy.load"}  # by these names


def statements(source: str) -> Iterator[tuple[str, set[str]]]:
    """Yield every SQL that is put together, with what is put into it, as it is written."""
    if not SQL.search((ROOT / source).read_text()):
        return
    for node in ast.walk(read_tree(ROOT / source)):
        parts: list[ast.expr] = []
        if isinstance(node, ast.JoinedStr):
            parts = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".format"):
            parts = [*node.args, *(one.value for one in node.keywords), node.func]
        texts = [one.value for one in ast.walk(node) if parts and isinstance(one, ast.Constant)]
        if any(isinstance(one, str) and SQL.search(one) for one in texts):
            yield ast.unparse(node), {ast.unparse(one) for one in parts}


def test_no_value_becomes_sql():
    put = {source: [parts for _, parts in statements(source)] for source in SOURCES}
    assert {source: set().union(*parts) for source, parts in put.items() if parts} == IDENTIFIERS
