"""The figure in three lines that docs/notebook.md promises."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import plotly.graph_objects as go

from core.figures.printing import to_print
from core.settings import ROOT
from tests.pages.world import SMALL, PaintedDataset, build


def test_a_figure_takes_three_lines(tmp_path: Path, monkeypatch) -> None:
    build(tmp_path / "store", PaintedDataset(20), **SMALL)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "notebook.md").read_text()
    (source,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    lines = [node for node in ast.parse(source).body if not isinstance(node, ast.ImportFrom)]
    assert len(lines) == 3
    *first, last = ast.parse(source).body
    names: dict[str, object] = {}
    exec(compile(ast.Module(first, []), "notebook", "exec"), names)
    assert isinstance(last, ast.Expr)
    figure = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    assert isinstance(figure, go.Figure)
    assert any(trace.customdata is not None for trace in figure.data)
    assert to_print(figure, width=85).layout.width == 392
