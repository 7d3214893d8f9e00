"""`platoscope dispersion` from end to end: what each command prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.questions.asking import ask
from core.questions.dispersion.question import Spaces, StimulusDispersion
from core.store import Store
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
    """Run one command and return its exit code, its rows or its text, and stderr."""

    def call(*words: str) -> tuple[int, list | str, str]:
        code = main(["dispersion", *words, "--store", str(root)])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words and not code else out, err

    return call


def test_a_row_per_stimulus(run, root) -> None:
    code, rows, _ = run("stimuli", "--spaces", *MODELS, "--json")
    table = ask(StimulusDispersion(joint=Spaces(tuple(SPACES))), Study(Store(root), "cave"))
    assert code == 0
    assert [row["index"] for row in rows] == list(range(64))
    assert list(rows[0]) == list(table)
    assert [row["pc1"] for row in rows] == pytest.approx(table["pc1"].tolist())
    assert [rows[5][space] for space in SPACES] == pytest.approx(table.loc[5, SPACES].tolist())


def test_the_consensus_has_an_axis_per_column(run) -> None:
    _, rows, _ = run("consensus", "--spaces", *MODELS, "--weights", "1", "2", "0", "--json")
    assert {"index", "stimulus", "axis_1", *SPACES} <= set(rows[0])


def test_without_models_those_of_four_objectives_are_taken_and_each_has_a_column(run) -> None:
    _, out, _ = run("stimuli")
    assert out.split("\n")[0].split()[:9] == [
        "index",
        "stimulus",
        "mean",
        "pc1",
        "median",
        "trimmed",
        *SPACES,
    ]


def test_by_ranks_and_size_marks_the_ends(run) -> None:
    _, rows, _ = run("stimuli", "--spaces", *MODELS, "--by", "median", "--size", "10", "--json")
    assert (np.diff([row["median"] for row in rows]) >= 0).all()
    assert [row["set"] for row in rows] == ["low"] * 10 + [""] * 44 + ["high"] * 10


def test_only_the_stimuli_of_a_set_and_a_factor(run) -> None:
    chosen = encode(list(range(30)), 64)
    _, rows, _ = run("stimuli", "--stimuli", chosen, "--where", "scene=city", "--json")
    assert [row["index"] for row in rows] == list(range(0, 30, 3))


def test_the_effect_table(run) -> None:
    words = ("effect", "--spaces", *MODELS, "--size", "16", *FEW, "--tested", "vit-clip-m")
    code, rows, err = run(*words, "--json")
    assert code == 0
    assert {row["set"] for row in rows} == {"low", "high", "random", "full", "low/high"}
    assert {row["vision"] for row in rows} == {"vit-clip-m:2"}
    assert {row["language"] for row in rows} == {"gpt-2-m", "gpt-2-s", ""}
    assert "sets of stimuli" in err
    _, _, err = run(*words)
    assert "the published work found up to 2 with CKNNA." in err


@pytest.mark.parametrize(
    ("words", "sets"),
    [
        (
            ("effect", "--language", "gpt-2-s", "--metric", "mutual_knn", "--cross-fitted"),
            {"low", "high", "random", "full", "low/high"},
        ),
        (("parts", "--parts", "4", "--by", "pc1"), {"1", "2", "3", "4", "full", "random"}),
        (("drop", "--seed", "1"), {"without high", "without low", "without random", "full"}),
    ],
)
def test_other_sets(run, words, sets) -> None:
    _, rows, _ = run(*words, "--spaces", *MODELS, *FEW, "--json")
    assert {row["set"] for row in rows} == sets


def test_models_held_out_and_compared_with_the_others(run) -> None:
    _, rows, _ = run("held-out", "--spaces", *MODELS, "--json")
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
    _, points, _ = run("deviations", "--spaces", *MODELS, "--json")
    assert len(points) == 3 * 64
    assert {"space", "index", "dispersion", "deviation", "norm"} <= set(points[0])
    _, apart, _ = run("stimuli", "--spaces", *MODELS, "--without-each", "--json")
    assert apart[0]["objective"] is None
    _, _, err = run("held-out", "--spaces", *MODELS)
    assert "the published work found 0.21 to 0.43." in err


def test_what_predicts_dispersion_is_ranked_and_said_in_a_sentence(run) -> None:
    words = ("predictors", "--spaces", *MODELS, "--by", "median", "--seed", "3")
    _, rows, _ = run(*words, "--json")
    single = [
        row["importance"] for row in rows if row["covers"] == 1 and row["importance"] is not None
    ]
    assert {row["kind"] for row in rows} == {"image", "caption", "factor", "consensus"}
    assert single == sorted(single, reverse=True)
    _, _, err = run(*words)
    assert "Together these predictors " in err


def test_words_of_the_low_and_the_high_set(run) -> None:
    _, rows, _ = run("words", "--spaces", *MODELS, "--size", "20", "--json")
    assert {(row["low"], row["high"]) for row in rows} == {(20, 20)}
    assert {"crimson", "city"} <= {row["word"] for row in rows}
    _, quarters, _ = run("words", "--spaces", *MODELS, "--by", "pc1", "--json")
    assert {(row["low"], row["high"]) for row in quarters} == {(16, 16)}


def test_all_findings(run) -> None:
    _, rows, _ = run("findings", "--spaces", *MODELS, *FEW, "--json")
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
        (("stimuli", "--spaces", "vit-mae-m"), "at least two spaces of a positive weight; got 1"),
        (
            ("stimuli", "--spaces", "vit-mae-m", "vit-mae-m:2"),
            "expected each space once; got vit-mae-m:2 more than once",
        ),
        (("stimuli", "--spaces", "vit-mae-m", "vit-clip-m:9"), "no layer of vit-clip-m named '9'"),
        (("stimuli", "--by", "worst"), "no summary of dispersion named 'worst'"),
        (("words", "--by", "worst"), "no summary of dispersion named 'worst'"),
        (("words", "--level", "50"), "no caption level named '50'"),
        *(
            (
                (command, "--size", "33"),
                "sets of 1 … 32 of 64 stimuli expected, so that low and high share none; got 33",
            )
            for command in ("stimuli", "effect", "words", "findings")
        ),
        (("parts", "--parts", "65"), "a ranking of 64 stimuli has 2 … 64 parts; got 65"),
        (("stimuli", "--stimuli", "64.abc"), "damaged or cut short"),
    ],
)
def test_a_mistake_is_one_sentence(run, words, message) -> None:
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("stimuli", "--seed", "1"),
        ("held-out", "--by", "pc1"),
        ("held-out", "--metric", "cka"),
        ("predictors", "--size", "8"),
        ("words", "--seed", "1"),
        ("parts", "--size", "8"),
    ],
)
def test_what_would_change_nothing_is_no_option(run, words) -> None:
    with pytest.raises(SystemExit):
        run(*words)
