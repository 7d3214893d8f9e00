"""Numbers are written in one way wherever a person reads them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from core.figures.numbers import count_text, counted, p_text, share_text, small_text
from core.settings import ROOT

SOURCES = [path for top in ("core", "pages") for path in (ROOT / top).rglob("*.py")]
TEXTS = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]


def formats(tree: ast.AST) -> Iterator[str]:
    """Return the formats of the values in all f-strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            yield ast.unparse(node.format_spec)


def sentences(tree: ast.AST) -> Iterator[str]:
    """Return all strings that have words; style sheets and drawings have none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (
                line for line in node.value.split("\n") if not re.search(r"[{};]|width: ", line)
            )


def test_a_percentage_has_a_space_in_every_sentence():
    made = {ROOT / "core" / "figures" / name for name in ("numbers.py", "marks.py")}
    wrong = []
    for path in set(SOURCES) - made:
        tree = ast.parse(path.read_text())
        wrong += [(path, one) for one in formats(tree) if "%" in one]
        wrong += [(path, one) for one in sentences(tree) if re.search(r"\d%(?!%)", one)]
    assert wrong == []


def test_a_percentage_has_a_space_in_every_document():
    lines = [(path, line) for path in TEXTS for line in path.read_text().split("\n")]
    assert [one for one in lines if re.search(r"\d%", one[1])] == []


def test_numbers_are_written_as_people_read_them():
    assert (share_text(0.953), share_text(0.953, 1)) == ("95 %", "95.3 %")
    assert (p_text(0.0321), p_text(1e-9), p_text(0.2, "q")) == ("p = 0.032", "p < 0.001", "q = 0.2")
    assert (small_text(0.0123), small_text(1e-9, 1)) == ("0.012", "10⁻⁹")
    assert small_text(4.8e-6) == "4.8\u202f×\u202f10⁻⁶"
    assert (counted(1, "pass", "passes"), counted(1500, "pass", "passes")) == (
        "1 pass",
        "1,500 passes",
    )
    assert (count_text(950), count_text(41_000), count_text(None)) == ("950", "41k", "—")
