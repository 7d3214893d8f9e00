"""What the commands of the theory offer is what there is to run, and each is drawn and told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError, UnknownNameError
from core.options import options_of
from core.theory.deep_linear import breakers, runs, setup
from core.theory.deep_linear.question import (
    PRESETS,
    DeepLinear,
    Symmetry,
)
from core.theory.deep_linear.setup import BREAKERS, WAYS, Networks
from core.theory.deep_linear.simulate import break_all

SMALL = Networks(inputs=3, labels=3, rank=2, a=(3,), b=(2, 3), c=(2,), d=(4,))


def test_every_preset_is_offered_in_order() -> None:
    (choices,) = (one.choices for one in options_of(DeepLinear) if one.name == "preset")
    assert choices == (*PRESETS, *BREAKERS)


@pytest.fixture
def _short(monkeypatch) -> None:
    monkeypatch.setattr(runs, "COUNTS", (0, 20))
    monkeypatch.setattr(runs, "HIERARCHY_STEPS", 20)
    fast = ("whitening, constructed", "SGD")
    monkeypatch.setattr(runs, "TRAININGS", {name: runs.TRAININGS[name] for name in fast})
    monkeypatch.setattr(runs, "COURSE_STEPS", 2_000)
    monkeypatch.setattr(runs, "EDGE_TIME", 0.5)
    monkeypatch.setattr(runs, "UNTIL", 1.0)
    monkeypatch.setattr(runs, "SYMMETRY_STEPS", 50)
    monkeypatch.setattr(breakers, "FLOW_TIME", 1.0)
    monkeypatch.setattr("core.theory.deep_linear.training.ETAS", (1e-2,))


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "breakers"] + ["saddle"])
def test_every_preset_has_tables_findings_and_figures(preset) -> None:
    asked = DeepLinear(preset, networks=SMALL)
    tables = asked.simulate()
    assert all(one.sentence.endswith(".") for one in asked.findings(tables))
    for rows, table in tables.items():
        assert len(table)
        figure = DeepLinear(preset, rows, networks=SMALL).plot(table).draw("light")
        assert any(len(trace["x"]) for trace in figure.data if trace["x"] is not None)
    answer = asked.complete(None).answer(None)
    pd.testing.assert_frame_equal(answer.table, tables["looks"])


@pytest.mark.usefixtures("_short")
def test_the_ways_to_break_it_are_rows_of_one_table(monkeypatch) -> None:
    assert len(WAYS) == len(BREAKERS) + 1
    monkeypatch.setattr(setup, "WAYS", ("labels", "edge-of-stability"))
    table = break_all(SMALL)["looks"]
    assert table["preset"].tolist() == ["labels", "edge-of-stability"]
    assert table["reached"][0] < 1
    assert np.isnan(table["predicted"][1])
    asked = DeepLinear("breakers", networks=SMALL)
    assert asked.findings({"looks": table})[0].value == 1
    assert asked.plot(table).draw("dark").data


@pytest.mark.usefixtures("_short")
def test_the_symmetry_says_where_the_entropy_is_least() -> None:
    asked = Symmetry("b", 2, "random", networks=SMALL)
    tables = asked.simulate()
    values = tables["least"].query("generator == 'random'")["least"]
    first, second = asked.findings(tables)
    assert first.value == pytest.approx(values.mean())
    assert first.low < first.value < first.high
    assert second.value < 1e-9
    assert asked.plot(tables["looks"]).draw("light").data
    at_least = Symmetry("a", 1, "all units", "least entropy", SMALL)
    assert at_least.findings(at_least.simulate())[0].value == pytest.approx(0, abs=1e-9)
    with pytest.raises(InputError, match="network a has 1 hidden layers, not 2"):
        Symmetry("a", 2, networks=SMALL).simulate()
    with pytest.raises(UnknownNameError, match="no symmetric matrix T named 'unit 9'"):
        Symmetry("a", 1, "unit 9", networks=SMALL).simulate()


def test_what_a_preset_does_not_have_is_refused() -> None:
    many = Networks(step=tuple(0.001 * place for place in range(1, 8)))
    with pytest.raises(InputError, match="limits takes 6 sizes of steps at most"):
        DeepLinear("limits", networks=many).complete(None)
    two = Networks(step=(0.1, 0.2))
    with pytest.raises(InputError, match="sgd takes 1 sizes of steps at most"):
        DeepLinear("sgd", networks=two).complete(None)
    with pytest.raises(InputError, match="theorem-1 takes 0 sizes of steps at most, and no batch"):
        DeepLinear("theorem-1", networks=two).complete(None)
