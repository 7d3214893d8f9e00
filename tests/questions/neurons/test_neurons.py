"""Units of the models of a store: shares, trends, pairs, stimuli and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import MetricError, NotApplicableError, UnknownNameError
from core.questions.asking import ask
from core.questions.neurons import question as module
from core.questions.neurons.question import (
    BEYOND,
    MATCHED,
    NeuronPairs,
    NeuronShare,
    pair_findings,
    share_findings,
    trend_findings,
    trend_rows,
)
from core.questions.neurons.units import Mining, Model, read_model
from core.store import Store
from core.study.parts import Scope
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

MINING = Mining(null=19, rotations=1)
SCOPE = Scope()


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return Study(
        Store(build(tmp_path_factory.mktemp("neurons"), PaintedDataset(60), **SMALL)), "cave"
    )


@pytest.fixture(scope="module")
def shares(study) -> pd.DataFrame:
    return ask(NeuronShare(SCOPE, (), MINING), study)


def test_every_two_models_have_a_row_of_shares_that_pairs_make(study, shares) -> None:
    assert len(shares) == 6 * 5 // 2
    assert (shares["share"] == shares["pairs"] / shares[["units_x", "units_y"]].min(axis=1)).all()
    assert shares["share"].between(0, 1).all()
    assert "reality" not in set(shares["model_x"]) | set(shares["model_y"])
    row = shares.iloc[0]
    question = NeuronPairs(SCOPE, row["model_x"], row["model_y"], MINING)
    pairs = ask(question, study)
    as_is = pairs[pairs["basis"] == "as they are"]
    assert as_is["recurs"].sum() == row["pairs"]
    assert pairs["threshold"].eq(row["threshold"]).all()
    assert set(pairs["basis"]) == {"as they are", "rotated", "shuffled"}
    found = pair_findings(pairs, "X", "Y")
    assert found[0].claim.startswith(f"{row['pairs']} units of X have a match in Y")
    assert found[0].value == pytest.approx(as_is.loc[as_is["recurs"], "r"].median())
    assert question.plot(pairs).draw("light").layout.shapes[0].y0 == row["threshold"]


def test_the_stimuli_are_those_that_excite_both_units_most(study) -> None:
    question = NeuronPairs(SCOPE, "vit-clip-m", "vit-mae-m", MINING, pair=1, count=5)
    table = ask(question, study)
    pairs = ask(NeuronPairs(SCOPE, "vit-clip-m", "vit-mae-m", MINING), study)
    first = pairs.iloc[0]
    for model, side in (("vit-clip-m", "x"), ("vit-mae-m", "y")):
        layer, unit = int(first[f"layer_{side}"]), int(first[f"unit_{side}"])
        values = study.store.space("cave", model, layer)[:, unit]  # as it is, nothing clamped
        rows = table[table["model"] == model]
        assert rows["index"].tolist() == np.argsort(-values, kind="stable")[:5].tolist()
        z = (values - values.mean()) / values.std()
        assert rows["excitation"].to_numpy() == pytest.approx(np.sort(z)[::-1][:5], abs=1e-4)
    twice = table["index"].duplicated(keep=False)
    assert (table["shared"] == twice).all()
    with pytest.raises(MetricError, match="choose a lower number"):
        ask(NeuronPairs(SCOPE, "vit-clip-m", "vit-mae-m", MINING, pair=9999), study)


def test_what_cannot_be_compared_is_refused_at_once(study) -> None:
    for question, error, match in (
        (NeuronPairs(SCOPE, "gpt-2-m", "gpt-2-m"), MetricError, "two different models"),
        (NeuronPairs(SCOPE, "gpt-2-m", "nobody"), UnknownNameError, "nobody"),
        (NeuronPairs(SCOPE, mining=Mining("9:9")), MetricError, "no layer 9"),
        (NeuronShare(SCOPE, ("gpt-2-m",)), NotApplicableError, "Needs 2 models; 1 loaded"),
        (NeuronShare(SCOPE, ("reality", "gpt-2-m")), UnknownNameError, "reality"),
        (NeuronShare(SCOPE, (), Mining("1:2"), by="competence"), MetricError, "got '1:2'"),
    ):
        with pytest.raises(error, match=match):
            ask(question, study)


def planted(slope: float) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Return shares that rise with the competence of both models, which rises within each line."""
    names = [f"{line}{size}" for line in "abc" for size in range(3)]
    trainings = pd.DataFrame(
        {
            "model": names,
            "title": names,
            "modality": "vision",
            "line": [name[0] for name in names],
            "recipe": names,
            "parameters": 1e5,
        }
    )
    competence = pd.Series([0.1 * int(name[1]) for name in names], index=names)
    rows = [
        {
            "model_x": x,
            "model_y": y,
            "share": 0.2 + slope * (competence[x] + competence[y]),
            "rotated": 0.2,
            "kin": x[0] == y[0],
        }
        for place, x in enumerate(names)
        for y in names[place + 1 :]
    ]
    return pd.DataFrame(rows), trainings, competence


def test_a_planted_trend_is_found_and_kin_do_not_count() -> None:
    table = trend_rows(*planted(0.5), draws=199, seed=0)
    assert set(table["measure"]) == {MATCHED, BEYOND}
    assert (table["models"] == 6).all()
    assert table["rise"].to_numpy() == pytest.approx(0.5)
    assert (table["q"] < 0.05).all()
    assert [one.verdict for one in trend_findings(table)] == ["supported"] * 2
    assert [one.value for one in trend_findings(table)] == pytest.approx([0.05] * 2)
    figure = (
        NeuronShare(SCOPE, by="competence")
        .plot(table.assign(group="MAE"))
        .draw("dark", narrow=True)
    )
    assert "+5.0 points per 0.1" in figure.layout.annotations[0].text


def test_a_random_basis_that_does_as_well_is_open(shares) -> None:
    same = share_findings(shares.assign(alike=shares["alike_rotated"]))[1]
    assert (same.verdict, same.value) == ("open", 0)
    more = share_findings(shares.assign(alike=0.9, alike_rotated=0.1))[1]
    assert more.verdict == "supported"
    assert more.value == pytest.approx(0.8)
    assert share_findings(shares.assign(kin=True))[0].verdict == "unknown"


def test_a_constant_model_empties_no_other_pair(study, monkeypatch) -> None:
    def read(study: Study, name: str, layers: list[int]) -> Model:
        if name == "gpt-2-m":
            raise MetricError("gpt-2-m: all are constant")
        return read_model(study, name, layers)

    monkeypatch.setattr(module, "read_model", read)
    names = ("gpt-2-m", "vit-clip-m", "vit-mae-m")
    table = NeuronShare(SCOPE, names, MINING).answer(study).table
    assert table["reason"].ne("").tolist() == [True, True, False]
    assert table["share"].notna().tolist() == [False, False, True]
