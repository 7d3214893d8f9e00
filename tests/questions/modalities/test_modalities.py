"""Do modalities meet: means over hand-made models, and over a store with a third modality."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.errors import UnknownNameError
from core.questions.asking import answer, ask
from core.questions.modalities import Modalities, meet
from core.store import Store
from core.study.parts import Comparison, Scope
from core.study.study import Study
from tests.pages.world import PaintedDataset, build


def side(modality: str, *names: str) -> pd.DataFrame:
    """Return trainings; of `a-s#1`, the recipe is a-s."""
    recipes = [name.partition("#")[0] for name in names]
    return pd.DataFrame(
        {
            "model": names,
            "modality": modality,
            "recipe": recipes,
            "line": [recipe.rpartition("-")[0] for recipe in recipes],
        }
    )


def met(one: pd.DataFrame, other: pd.DataFrame, scores: np.ndarray, **more) -> dict:
    matrix = pd.DataFrame(scores, index=one["model"], columns=other["model"])
    return meet(one, other, matrix, chance=0.1, untrained=0.12, ceiling=0.5, **more)


def test_means_are_over_lines_of_which_a_test_takes_three():
    notes = side("music", "m-s", "m-s#1", "n-s", "o-s")
    vision = side("vision", "a-s", "a-xs", "b-s", "c-s")
    scores = np.array([[0.2, 0.4, 0.3, 0.6], [0.4, 0.6, 0.5, 0.8]])[[0, 1, 0, 1]]
    whole = met(notes, vision, scores)
    assert whole["mean"] == pytest.approx(0.5)  # of 0.5, 0.4 and 0.6
    assert whole["share"] == pytest.approx((whole["mean"] - 0.1) / (0.5 - 0.1))
    assert (whole["models_one"], whole["models_other"]) == (4, 4)
    assert whole["low"] < whole["mean"] < whole["high"]
    assert whole["p"] < whole["p_untrained"] < 1
    few = met(notes[:3], vision, scores[:3])
    assert few["reason"].endswith("here 2: m, n")
    assert np.isnan([few[name] for name in ("low", "p", "p_untrained")]).all()
    alone = met(notes, side("world", "reality"), scores[:, :1], fixed=True)
    assert alone["mean"] == pytest.approx((0.3 + 0.2 + 0.4) / 3)


@pytest.mark.parametrize("worlds", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_sizes_of_three_families_are_seldom_taken_for_a_meeting_where_there_is_none(worlds):
    rng = np.random.default_rng(0)
    sides = [
        side(kind, *(f"{kind[0]}{place}-{size}" for place in range(3) for size in "abcd"))
        for kind in ("music", "vision")
    ]
    sure = 0
    for _ in range(worlds):
        one, other = (np.repeat(rng.normal(size=3), 4) + 0.1 * rng.normal(size=12) for _ in "xy")
        sure += met(*sides, 0.1 + one[:, None] + other)["p"] < 0.05
    assert sure / worlds <= (0.2 if worlds == 20 else 0.07)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """A store of three modalities: those who hear know reality, or nothing of it."""
    root = tmp_path_factory.mktemp("modalities")
    dataset = PaintedDataset(40)
    kinds = {
        "vision": (
            *(("MAE", "s", 0.8), ("CLIP", "s", 0.7), ("DINO", "s", 0.6), ("untrained", "s", 0.0)),
        ),
        "language": (("GPT-2", "s", 0.8), ("LLaMA", "s", 0.6), ("Bloom", "s", 0.7)),
    }
    build(root / "store", dataset, **kinds)
    for seed, name in enumerate(("beats", "chords", "drums")):
        noise = np.random.default_rng(seed).normal(size=(40, 3, 9)) / 3
        np.save(root / f"{name}.npy", (dataset.reality[:, None] + noise).astype(np.float32))
        words = ["--dataset", "cave", "--name", name, "--modality", "music"]
        file = str(root / f"{name}.npy")
        assert main(["import", file, *words, "--store", str(root / "store")]) == 0
    return root / "store"


def test_every_two_modalities_and_each_with_reality(store):
    study, question = Study(Store(store), "cave"), Modalities(Scope(), comparison=Comparison(k=5))
    table = ask(question, study)
    assert list(table) == list(Modalities.columns)
    whole = table.set_index(["one", "other"])
    kinds = ("vision", "language", "music")
    assert list(whole.index) == [
        ("vision", "language"),
        ("vision", "music"),
        ("language", "music"),
        *((kind, "world") for kind in kinds),
    ]
    assert (whole["chance"] > 5 / 39).all()  # layers are chosen again for shuffled stimuli
    assert (whole["mean"] > whole["chance"]).all()
    assert whole.loc[("music", "world"), "q"] < 0.05
    assert whole["untrained"].notna().tolist() == [False, False, False, True, False, False]
    assert whole.loc[("vision", "world"), "untrained"] < whole.loc[("vision", "world"), "mean"]
    assert whole.loc[("vision", "world"), "reason"] == "no ceiling: reality is no training"
    for test in ("p", "p_untrained"):
        found = table[table[test].notna()]
        assert (found[test.replace("p", "q")] >= found[test]).all()
    found = {one.claim: one for one in question.findings(table)}
    assert found["music and reality are aligned beyond chance"].verdict == "open"  # relatives?
    assert found["vision and reality are aligned beyond chance"].verdict == "supported"
    row = whole.loc[("vision", "world")]
    more = found["vision and reality are aligned more than untrained models"]
    assert more.value == pytest.approx(row["mean"] - row["untrained"])
    figure = question.plot(table).draw("light")
    assert "music with reality" in figure.layout.yaxis.ticktext
    reads = {key.removeprefix("embedding:cave:") for key in answer(question, study).reads}
    assert {"reality", "vit-untrained-s"} <= reads
    with pytest.raises(UnknownNameError, match="no finished model named 'mea'"):
        ask(Modalities(Scope(), ("mea",)), study)
