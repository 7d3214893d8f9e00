"""What dispersion does to alignment in a study: every score is the metric's own on the stimuli that
the ranking chooses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import MetricError, StimuliError, UnknownNameError
from core.metrics import METRICS
from core.questions.asking import ask
from core.questions.dispersion import effect as trials
from core.questions.dispersion.effect import SetEffect, Trial
from core.questions.dispersion.question import Ranking, Spaces, StimulusDispersion
from core.spaces.preprocess import normalize_rows
from core.store import Store
from core.study.parts import Measure
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-mae-m:2", "vit-clip-m:2", "vit-supervised-s:2")
QUICK = {"repeats": 4, "draws": 4}
CKNNA = Measure("cknna", k=4)


def compare(study: Study, spaces=SPACES, trial=None, **choices):
    """Ask a question about sets of stimuli; trial, measure and what ranks them are quick ones."""
    ranking = Ranking(tuple(spaces), by=choices.pop("by", "mean"))
    measure = choices.pop("measure", CKNNA)
    question = SetEffect(ranking=ranking, trial=trial or Trial(**QUICK), measure=measure, **choices)
    return ask(question, study)


def disperse(study: Study, spaces) -> pd.DataFrame:
    return ask(StimulusDispersion(joint=Spaces(tuple(spaces))), study)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"),
        PaintedDataset(80),
        vision=VISION,
        language=LANGUAGE[1:3],
        reality=False,
    )


@pytest.fixture(scope="module")
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def by_hand(
    study: Study, vision: str, language: str, layer: int, rows: np.ndarray, metric: str = "cknna"
) -> float:
    model, _, place = vision.partition(":")
    x, y = study.spaces(model)[int(place)][rows], study.spaces(language)[layer][rows]
    return METRICS[metric](normalize_rows(x), normalize_rows(y), k=4)


def test_low_and_high_sets_are_scored_by_the_metric_itself(study):
    table = compare(study, size=20).set_index(["vision", "language", "set"])
    order = np.argsort(disperse(study, SPACES)["mean"], kind="stable").to_numpy()
    for name, rows in (
        ("low", np.sort(order[:20])),
        ("high", np.sort(order[-20:])),
        ("full", np.arange(80)),
    ):
        row = table.loc["vit-clip-m:2", "gpt-2-s", name]
        assert row["score"] == pytest.approx(
            by_hand(study, "vit-clip-m:2", "gpt-2-s", row["layer"], rows), rel=1e-5
        )
        assert row["dispersion"] == pytest.approx(disperse(study, SPACES)["mean"][rows].mean())
        assert row["size"] == len(rows)
    assert set(table.reset_index()) == set(SetEffect.columns)
    low = [table.loc[("vit-mae-m:2", name, "low"), "score"] for name in ("gpt-2-m", "gpt-2-s", "")]
    assert low[2] == pytest.approx(np.mean(low[:2]))


def test_a_language_model_is_taken_in_its_best_layer_over_all_stimuli(study):
    table = compare(study, size=20).query("set == 'full' and language != ''")
    for row in table.to_dict("records"):
        every = [
            by_hand(study, row["vision"], row["language"], layer, np.arange(80))
            for layer in (1, 2, 3)
        ]
        assert row["layer"] == 1 + int(np.argmax(every))


def test_random_sets_are_as_large_and_their_number_bounds_p(study):
    table = compare(study, size=20).set_index("set")
    assert set(table.loc["random", "size"]) == {20}
    assert table.loc[["low", "high"], "p"].between(2 / 5, 1).all()
    assert table.loc[["full", "random", "low/high"], "p"].isna().all()


def test_the_ratio_is_of_the_means(study):
    table = compare(study, size=30).query("language == ''").set_index(["vision", "set"])
    low, high, ratio = (table.loc["vit-clip-m:2", name] for name in ("low", "high", "low/high"))
    assert ratio["score"] == pytest.approx(low["score"] / high["score"])
    assert ratio["low"] < ratio["score"] < ratio["high"]


def test_language_models_can_rank_what_vision_models_are_tested_on(study):
    models, measure = ("gpt-2-m", "gpt-2-s"), Measure("mutual_knn", k=4)
    table = compare(study, models, measure=measure, size=20).set_index(
        ["vision", "language", "set"]
    )
    rows = np.sort(
        np.argsort(disperse(study, ("gpt-2-m", "gpt-2-s"))["mean"], kind="stable").to_numpy()[:20]
    )
    row = table.loc["vit-clip-m:2", "gpt-2-s", "low"]
    assert row["score"] == pytest.approx(
        by_hand(study, "vit-clip-m:2", "gpt-2-s", row["layer"], rows, "mutual_knn")
    )
    tested = {name[:3] for name in table.index.get_level_values("vision")}
    assert tested == {"vit"}


def test_an_end_is_dropped(study):
    table = compare(study, sets="drop", share=0.25).set_index(["vision", "language", "set"])
    rows = np.sort(np.argsort(disperse(study, SPACES)["mean"], kind="stable").to_numpy()[20:])
    row = table.loc["vit-mae-m:2", "gpt-2-m", "without low"]
    assert row["score"] == pytest.approx(
        by_hand(study, "vit-mae-m:2", "gpt-2-m", row["layer"], rows), rel=1e-5
    )
    assert set(table.index.get_level_values("set")) == {
        "without high",
        "without low",
        "without random",
        "full",
    }
    assert table["size"].xs("without random", level="set").unique().tolist() == [60]


def test_stimuli_that_models_agree_on_are_aligned_with_language(tmp_path):
    """A planted world: where all vision models are noisy, they agree neither with each other nor
    with language.
    """
    dataset = PaintedDataset(80)
    dataset.__dict__["reality"] = dataset.reality  # as it is, before noise
    root = build(tmp_path, dataset, vision=VISION[:4], language=LANGUAGE[1:3], reality=False)
    planted = Study(Store(root), "cave")
    hard, whole = np.arange(40), planted.spaces

    def noisy(model: str, **choices: bool) -> list[np.ndarray]:
        rng = np.random.default_rng(len(model))
        layers = [layer.copy() for layer in whole(model, **choices)]
        for layer in layers:
            layer[hard] += (rng.normal(size=(40, layer.shape[1])) * ("vit" in model)).astype(
                np.float32
            )
        return layers

    planted.spaces = noisy
    low, high = ("vit-mae-s:2", "vit-mae-m:2"), ("vit-clip-s:2", "vit-clip-m:2")
    trial, usual = Trial(repeats=20, draws=20), Measure("cknna")
    table = compare(planted, (*low, *high), trial, measure=usual, size=30).query("language == ''")
    values = disperse(planted, (*low, *high))["mean"]
    assert values[hard].min() > values[40:].median()
    assert (table.query("set == 'low/high'")["score"] > 1.2).all()
    assert (table.query("set == 'low'")["p"] < 0.2).all()


def test_a_share_that_cannot_be_is_refused(study):
    with pytest.raises(StimuliError, match="expected a share of at most a half"):
        compare(study, sets="drop", share=np.nan)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"size": 41},
            StimuliError,
            r"sets of 1 … 40 of 80 stimuli expected, so that low and high share none; got 41",
        ),
        (
            {"size": 20, "measure": Measure("cknn")},
            UnknownNameError,
            "no metric named 'cknn'; did you mean cknna",
        ),
        (
            {"size": 8, "measure": Measure("cknna")},
            MetricError,
            r"k must lie in 1 … 7 .* of 8 stimuli; got 10: take larger",
        ),
        (
            {"size": 20, "trial": Trial(language=("gpt-3",))},
            UnknownNameError,
            "no model named 'gpt-3'",
        ),
    ],
)
def test_a_trial_that_cannot_be_is_refused(study, options, error, message):
    with pytest.raises(error, match=message):
        compare(study, **options)


def test_what_would_take_hours_is_refused_before_it_is_begun(study, monkeypatch):
    monkeypatch.setattr(trials, "MOST_PAIRS", 1000.0)
    monkeypatch.setattr(trials, "score_all", None)
    wanted = (
        r"scoring sets of \d+ stimuli, 4 parts of each and 4 random ones compares \d.* pairs of"
        r" stimuli; at most 1e\+03 expected: ask for fewer draws and repeats, or study fewer"
    )
    with pytest.raises(MetricError, match=wanted):
        compare(study, sets="drop", measure=Measure("cknna", k=7))  # kept by no other test
