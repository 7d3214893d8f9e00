"""`platoscope dispersion` from end to end: what it prints in each view, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.store import Store
from core.study.consensus import disperse
from core.study.selections import encode
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

MODELS = ("vit-mae-m:block 2", "vit-clip-m", "vit-supervised-s")
SPACES = ["vit-mae-m:2", "vit-clip-m:2", "vit-supervised-s:2"]
FEW = ("--repeats", "3", "--draws", "2", "--k", "4")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"),
        PaintedDataset(64),
        vision=VISION,
        language=LANGUAGE[1:3],
        reality=False,
    )


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str]):
    """Run one view and return its exit code, its rows or its text, and stderr."""

    def call(*words: str) -> tuple[int, list | str, str]:
        code = main(["dispersion", "--dataset", "cave", "--store", str(root), *words])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words and not code else out, err

    return call


def test_a_row_per_stimulus(run, root) -> None:
    code, rows, _ = run("--models", *MODELS, "--json")
    table = disperse(Study(Store(root), "cave"), SPACES)
    assert code == 0
    assert [row["index"] for row in rows] == list(range(64))
    assert {"index", "stimulus", "mean", "pc1", "residuals"} <= set(rows[0])
    assert [row["pc1"] for row in rows] == pytest.approx(table["pc1"].tolist())
    assert rows[5]["residuals"] == pytest.approx({space: table.loc[5, space] for space in SPACES})


def test_without_models_those_of_four_objectives_are_taken_and_each_has_a_column(run) -> None:
    _, out, _ = run()
    assert out.split("\n")[0].split()[:9] == [
        "index",
        "stimulus",
        "mean",
        "pc1",
        "median",
        "trimmed",
        *SPACES,
    ]


def test_by_ranks_and_sets_marks_the_ends(run) -> None:
    _, rows, _ = run("--models", *MODELS, "--by", "median", "--sets", "10", "--json")
    assert (np.diff([row["median"] for row in rows]) >= 0).all()
    assert [row["set"] for row in rows] == ["low"] * 10 + [""] * 44 + ["high"] * 10


def test_only_the_stimuli_of_a_set_and_a_factor(run) -> None:
    _, rows, _ = run("--stimuli", encode(list(range(30)), 64), "--where", "scene=city", "--json")
    assert [row["index"] for row in rows] == list(range(0, 30, 3))


def test_the_effect_table(run) -> None:
    code, rows, err = run(
        "--models", *MODELS, "--sets", "16", "--effect", *FEW, "--tested", "vit-clip-m", "--json"
    )
    assert code == 0
    assert {row["set"] for row in rows} == {"low", "high", "random", "full", "low/high"}
    assert {row["vision"] for row in rows} == {"vit-clip-m:2"}
    assert {row["language"] for row in rows} == {"gpt-2-m", "gpt-2-s", ""}
    assert "sets of stimuli" in err


@pytest.mark.parametrize(
    ("words", "sets"),
    [
        (
            ("--effect", "--language", "gpt-2-s", "--metric", "mutual_knn", "--cross-fitted"),
            {"low", "high", "random", "full", "low/high"},
        ),
        (("--parts", "4", "--by", "pc1"), {"1", "2", "3", "4", "full", "random"}),
        (
            ("--drop", "0.25", "--seed", "1"),
            {"without high", "without low", "without random", "full"},
        ),
    ],
)
def test_other_sets(run, words, sets) -> None:
    _, rows, _ = run("--models", *MODELS, *words, *FEW, "--json")
    assert {row["set"] for row in rows} == sets


def test_models_held_out_and_compared_with_the_others(run) -> None:
    _, rows, _ = run("--models", *MODELS, "--held-out", "--json")
    assert [row["space"] for row in rows] == SPACES
    assert {
        "pearson",
        "spearman",
        "shuffled",
        "shuffled_p",
        "partial",
        "partial_low",
        "slope",
        "intercept",
    } <= set(rows[0])
    _, apart, _ = run("--models", *MODELS, "--without-each", "--json")
    assert apart[0]["objective"] is None


def test_what_predicts_dispersion_is_ranked_and_said_in_a_sentence(run) -> None:
    _, rows, err = run("--models", *MODELS, "--explain", "--by", "median", "--seed", "3", "--json")
    single = [
        row["importance"] for row in rows if row["covers"] == 1 and row["importance"] is not None
    ]
    assert {row["kind"] for row in rows} == {"image", "caption", "factor", "consensus"}
    assert single == sorted(single, reverse=True)
    assert "These predictors together predict" in err


def test_words_of_the_low_and_the_high_set(run) -> None:
    _, rows, _ = run("--models", *MODELS, "--words", "--sets", "20", "--json")
    assert {(row["low"], row["high"]) for row in rows} == {(20, 20)}
    assert {"crimson", "city"} <= {row["word"] for row in rows}
    _, quarters, _ = run("--models", *MODELS, "--words", "--by", "pc1", "--json")
    assert {(row["low"], row["high"]) for row in quarters} == {(16, 16)}


def test_all_findings(run) -> None:
    _, rows, _ = run("--models", *MODELS, "--findings", *FEW, "--json")
    assert {
        "cknna low/high",
        "cknna without high",
        "held out, pearson",
        "held out, partial",
        "importance",
    } <= {row["finding"] for row in rows}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--models", "vit-mae-m"), "at least two spaces of a positive weight; given 1"),
        (
            ("--models", "vit-mae-m", "vit-mae-m:2"),
            "each space once expected; given vit-mae-m:2 more than once",
        ),
        (("--models", "vit-mae-m", "vit-clip-m:9"), "no layer of vit-clip-m named '9'"),
        (("--by", "worst"), "no summary of dispersion named 'worst'"),
        (
            ("--sets", "33"),
            r"sets of 1 … 32 of 64 stimuli expected, so that low and high share none; given 33",
        ),
        (("--seed", "1"), "--seed would change nothing of what is printed"),
        (
            ("--held-out", "--by", "pc1", "--metric", "cka"),
            "--metric and --by would change nothing",
        ),
        (("--explain", "--sets", "8"), "--sets would change nothing"),
        (("--words", "--seed", "1"), "--seed would change nothing"),
        (("--parts", "4", "--sets", "8"), "--sets would change nothing"),
        (("--stimuli", "64.abc"), "damaged or cut short"),
    ],
)
def test_a_mistake_is_one_sentence(run, words, message) -> None:
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
